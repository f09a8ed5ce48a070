/** Who wants to know that a session is gone. */
export class RemovedSessions {
  readonly #listeners = new Set<(sessionId: string) => void>()

  tell(sessionId: string): void {
    for (const listener of [...this.#listeners]) listener(sessionId)
  }

  onRemoved(listener: (sessionId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
