/** Agents that are started ahead of their session's turn: whoever stops that turn gives the start up, too. */
export class StartsAhead {
  readonly #running = new Map<AbortController, string>()

  /** Resolves quietly when the start is given up. */
  async run(sessionId: string, start: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const givingUp = new AbortController()
    this.#running.set(givingUp, sessionId)
    try {
      await start(givingUp.signal)
    } catch (error) {
      if (!givingUp.signal.aborted) throw error
    } finally {
      this.#running.delete(givingUp)
    }
  }

  giveUp(sessionId: string): void {
    for (const [givingUp, startedFor] of this.#running) if (startedFor === sessionId) givingUp.abort()
  }
}
