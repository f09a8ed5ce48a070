/** Holds answers that the script stalls, until someone releases them. */
export class StallGate {
  #held = new Set<() => void>()

  /** Resolves when released, rejects when `signal` aborts. */
  hold(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void) => () => {
        this.#held.delete(go)
        signal.removeEventListener('abort', stop)
        settle()
      }
      const go = leave(resolve)
      const stop = leave(() => reject(signal.reason))
      this.#held.add(go)
      signal.addEventListener('abort', stop)
      if (signal.aborted) stop()
    })
  }

  /** Lets every stalled answer go on; says how many there were. */
  release(): number {
    const held = [...this.#held]
    for (const go of held) go()
    return held.length
  }
}
