import type { HarnessTurnOpts } from '@chirality/core'

/**
 * The options of one turn. They take precedence over the persona, which takes precedence over the session's settings.
 */
export interface TurnRequest
  extends Omit<HarnessTurnOpts, 'turnId' | 'decide' | 'guard' | 'onProcess' | 'signal' | 'trustProject'> {
  /** Ends the turn as `timeout`. */
  timeoutMs?: number
  /** How long a permission request of this turn waits before it is denied. Default: the host's setting. */
  decisionTimeoutMs?: number
  signal?: AbortSignal
  /** The token limit of this turn. */
  maxBudgetTokens?: number
  /** Nobody watches the turn, as in a loop: without a limit of rounds from elsewhere it has `UNATTENDED_MAX_TURNS`. */
  unattended?: boolean
  /** The turn that this one repeats, for the log only. */
  retryOfTurnId?: string
}
