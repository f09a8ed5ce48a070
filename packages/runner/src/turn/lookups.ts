import { HarnessError, type HarnessId } from '@chirality/core'

/**
 * Questions about an agent that belong to no session: whether it is installed, its commands, its conversations. Each may
 * start a process, which must not outlive the harness.
 */
export class Lookups {
  readonly #running = new Map<Promise<unknown>, AbortController>()
  readonly #harnessId: HarnessId

  constructor(harnessId: HarnessId) {
    this.#harnessId = harnessId
  }

  /**
   * `look` ends its processes when the signal is aborted, and settles only then. A lookup that was ended rejects and
   * says so: what an agent said until then is not its answer, and that it said nothing more is no fault of it.
   */
  async ask<T>(look: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ending = new AbortController()
    const answer = look(ending.signal)
    this.#running.set(answer, ending)
    try {
      return await answer.finally(() => ending.signal.throwIfAborted())
    } finally {
      this.#running.delete(answer)
    }
  }

  /** Resolves when no process of those that were running is left. */
  async end(): Promise<void> {
    const running = [...this.#running]
    const why = 'The agent was not asked to the end: Chirality was stopped.'
    for (const [, ending] of running) ending.abort(new HarnessError(why, 'aborted', this.#harnessId))
    await Promise.allSettled(running.map(([answer]) => answer))
  }
}
