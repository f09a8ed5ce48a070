import type { SessionHarness } from '@chirality/core'
import type { Spending } from '../budget/budget-book.ts'
import type { TurnRecordKeeper } from './record/turn-record.ts'
import type { StopSignal } from './stop-signal.ts'
import type { TurnRun, TurnRunEnd } from './turn-run.ts'
import type { TurnWriter } from './turn-writer.ts'

export interface LiveTurnOptions {
  turnId: string
  sessionId: string
  harness: SessionHarness
  run: TurnRun
  stop: StopSignal
  writer: TurnWriter
  record: TurnRecordKeeper
  /** What is done before the agent is asked. */
  setUp?: { stop(): Promise<void> }
}

/** A running turn. */
export class LiveTurn {
  readonly turnId: string
  readonly harness: SessionHarness
  /** How the turn ended, or that it was left running. Never rejects. */
  readonly done: Promise<TurnRunEnd>
  readonly #options: LiveTurnOptions

  constructor(options: LiveTurnOptions) {
    this.#options = options
    this.turnId = options.turnId
    this.harness = options.harness
    this.done = options.run.finish().finally(() => {
      options.stop.release()
      options.record.close()
      options.writer.close()
    })
  }

  get spent(): Spending {
    return this.#options.writer.spent
  }

  interrupt(): void {
    this.#options.run.forbidRetry()
    void this.#options.setUp?.stop()
    this.harness.interrupt(this.#options.sessionId)
  }

  /** Resolves when no process of the turn runs any more; the log may not show it yet. Never rejects. */
  async kill(): Promise<void> {
    this.#options.run.forbidRetry()
    await this.#options.setUp?.stop()
    await this.harness.kill(this.#options.sessionId).catch(() => {})
  }

  /** Leaves the agent running. */
  leave(): void {
    // Nobody could follow it.
    void this.#options.setUp?.stop()
    this.#options.stop.release()
    this.#options.run.leave()
  }

  /** Restores the record of the turn if it was deleted. */
  repair(): Promise<boolean> {
    return this.#options.record.repair()
  }
}
