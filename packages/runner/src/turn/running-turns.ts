import { HarnessBusyError, type HarnessId, type UIEvent } from '@chirality/core'

/** A turn that can be told to stop. */
export interface StoppableTurn {
  events(): AsyncGenerator<UIEvent>
  /** The event that nothing follows. Default `process:exit`. */
  readonly lastEvent?: UIEvent['type']
  interrupt(): void
  /** Resolves when nothing of it runs any more. */
  kill(): Promise<void>
}

/** The turns of a harness: one at a time for each session. */
export class RunningTurns<T extends StoppableTurn> {
  readonly #harnessId: HarnessId
  readonly #turns = new Map<string, T>()

  constructor(harnessId: HarnessId) {
    this.#harnessId = harnessId
  }

  /** Makes the turn when its first event is asked for. Throws then when the session has one running. */
  async *run(sessionId: string, make: () => T): AsyncGenerator<UIEvent> {
    if (this.#turns.has(sessionId)) throw new HarnessBusyError(this.#harnessId, sessionId)
    const turn = make()
    this.#turns.set(sessionId, turn)
    const settle = () => {
      if (this.#turns.get(sessionId) === turn) this.#turns.delete(sessionId)
    }
    try {
      for await (const event of turn.events()) {
        // Nothing runs any more: who hears this may start the next turn at once.
        if (event.type === (turn.lastEvent ?? 'process:exit')) settle()
        yield event
      }
    } finally {
      settle()
    }
  }

  get(sessionId: string): T | undefined {
    return this.#turns.get(sessionId)
  }

  has(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#turns.values()].map(turn => turn.kill()))
  }
}
