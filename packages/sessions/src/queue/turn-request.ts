import type { HarnessTurnOpts } from '@chirality/core'

/** What one turn can be given. It wins over the persona, which wins over the session's settings. */
export interface TurnRequest
  extends Omit<HarnessTurnOpts, 'turnId' | 'decide' | 'guard' | 'onProcess' | 'signal' | 'trustProject'> {
  /** Ends the turn as `timeout`. */
  timeoutMs?: number
  /** How long a request of this turn waits for a person before the answer is no. Left out: as the host was told. */
  decisionTimeoutMs?: number
  signal?: AbortSignal
  /** The most tokens that models may read and write in this turn. */
  maxBudgetTokens?: number
  /** The turn that this one repeats: said in the log, nothing more. */
  retryOfTurnId?: string
}
