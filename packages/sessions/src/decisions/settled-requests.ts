/** How a request came to its end. */
export type Ending = 'answered' | 'closed'

/** Remembers the last requests that are over, so that a late answer hears why it is late. */
export class SettledRequests {
  readonly #endings = new Map<string, Ending>()

  add(key: string, ending: Ending): void {
    this.#endings.delete(key)
    this.#endings.set(key, ending)
    if (this.#endings.size <= MAX_REMEMBERED) return
    const [oldest] = this.#endings.keys()
    if (oldest !== undefined) this.#endings.delete(oldest)
  }

  get(key: string): Ending | undefined {
    return this.#endings.get(key)
  }

  forget(key: string): void {
    this.#endings.delete(key)
  }
}

const MAX_REMEMBERED = 4096
