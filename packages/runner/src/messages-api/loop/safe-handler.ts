import type { EventHandler } from './event-handler.ts'

type Methods = Required<EventHandler>

/** Calls a handler whose mistakes stay its own. */
export class SafeHandler {
  readonly #handler: EventHandler
  readonly #errors: unknown[] = []

  constructor(handler: EventHandler) {
    this.#handler = handler
  }

  call<K extends keyof Methods>(name: K, ...args: Parameters<Methods[K]>): void {
    try {
      const method = this.#handler[name] as ((...args: Parameters<Methods[K]>) => void) | undefined
      method?.apply(this.#handler, args)
    } catch (error) {
      if (this.#errors.length < MAX_ERRORS) this.#errors.push(error)
    }
  }

  get errors(): readonly unknown[] {
    return [...this.#errors]
  }

  forgetErrors(): void {
    this.#errors.length = 0
  }
}

/** One that throws at every delta must not fill memory. */
const MAX_ERRORS = 20
