import type { SessionStatus } from './server-api.ts'

/** Every session of every project, as the server tells of it. */
export class FleetStore {
  #statuses: readonly SessionStatus[] = []
  #loaded = false
  readonly #byId = new Map<string, SessionStatus>()
  readonly #listeners = new Set<() => void>()
  readonly #changeListeners = new Set<(now: SessionStatus, before: SessionStatus | undefined) => void>()

  readonly list = (): readonly SessionStatus[] => this.#statuses
  readonly isLoaded = (): boolean => this.#loaded

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get(sessionId: string): SessionStatus | undefined {
    return this.#byId.get(sessionId)
  }

  /** Told of each change of a session that was known before, for notifications. */
  onChange(listener: (now: SessionStatus, before: SessionStatus | undefined) => void): () => void {
    this.#changeListeners.add(listener)
    return () => this.#changeListeners.delete(listener)
  }

  /** All there is: what is not in it is gone. */
  replace(statuses: readonly SessionStatus[]): void {
    this.#loaded = true
    this.#byId.clear()
    for (const status of statuses) this.#byId.set(status.sessionId, status)
    this.#publish()
  }

  update(status: SessionStatus): void {
    const before = this.#byId.get(status.sessionId)
    this.#byId.set(status.sessionId, status)
    this.#publish()
    for (const listener of this.#changeListeners) listener(status, before)
  }

  remove(sessionId: string): void {
    if (this.#byId.delete(sessionId)) this.#publish()
  }

  #publish(): void {
    this.#statuses = [...this.#byId.values()]
    for (const listener of this.#listeners) listener()
  }
}
