import { type ConformanceReport, newestResults, storeResult } from '@chirality/conformance'
import { HarnessError } from '@chirality/core'

/** Runs an agent through its scripted conversations. Which program that is, the app knows. */
export type TryAgent = (harness: string, signal: AbortSignal) => Promise<ConformanceReport>

/** Trials of the installed agents, one at a time, and what the last of each showed. */
export class AgentTrials {
  readonly #home: string
  readonly #tryAgent: TryAgent | undefined
  readonly #closing = new AbortController()
  #running: { harness: string; ended: Promise<unknown> } | undefined

  constructor(home: string, tryAgent: TryAgent | undefined) {
    this.#home = home
    this.#tryAgent = tryAgent
  }

  /** The agent that is being tried. */
  get running(): string | null {
    return this.#running?.harness ?? null
  }

  results(): Promise<ConformanceReport[]> {
    return newestResults(this.#home)
  }

  /** Goes on when the caller leaves; its result is kept. */
  async run(harness: string): Promise<ConformanceReport> {
    if (!this.#tryAgent)
      throw new HarnessError(
        'This server cannot try agents. Use chirality conformance.',
        'unsupported',
        harness,
      )
    if (this.#running)
      throw new HarnessError(
        `${this.#running.harness} is being tried. Wait until that has ended.`,
        'busy',
        harness,
      )
    const ended = this.#tryAgent(harness, this.#closing.signal)
    this.#running = { harness, ended: ended.catch(() => {}) }
    try {
      const report = await ended
      if (report.refused === undefined) await storeResult(this.#home, report)
      return report
    } finally {
      this.#running = undefined
    }
  }

  /** Ends a trial that runs, with everything that it started. */
  async close(): Promise<void> {
    this.#closing.abort(new HarnessError('The server was stopped.', 'aborted', 'trial'))
    await this.#running?.ended
  }
}
