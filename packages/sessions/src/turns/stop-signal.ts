import type { TurnRequest } from '../queue/turn-request.ts'

/** Stops a turn: by the caller's signal, by a time limit, or by the host. */
export class StopSignal {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal | undefined
  readonly #onOuter: () => void
  #timer: NodeJS.Timeout | undefined

  constructor({ signal, timeoutMs }: Pick<TurnRequest, 'signal' | 'timeoutMs'>) {
    this.#outer = signal
    this.#onOuter = () => this.#controller.abort(signal?.reason)
    if (signal?.aborted) this.#onOuter()
    signal?.addEventListener('abort', this.#onOuter, { once: true })
    if (timeoutMs === undefined) return
    const reason = new DOMException(`The turn took longer than ${timeoutMs} ms.`, 'TimeoutError')
    // A longer delay does not fit into a timer, which would fire at once.
    this.#timer = setTimeout(() => this.#controller.abort(reason), Math.min(timeoutMs, MAX_TIMER_MS))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(): void {
    this.#controller.abort()
  }

  /** The turn is over: later signals have no effect. */
  release(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#onOuter)
  }
}

const MAX_TIMER_MS = 2 ** 31 - 1
