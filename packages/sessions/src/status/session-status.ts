import type {
  HarnessId,
  PermissionRequestEvent,
  SessionCondition,
  SessionMode,
  TurnEndReason,
} from '@chirality/core'
import type { LogHealth } from '../log/file/log-writer.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import type { TurnPhase } from './turn-phase.ts'

/** What a list of running sessions shows of each. */
export interface SessionStatus {
  sessionId: string
  projectRoot: string
  title: string | null
  harness: HarnessId | null
  model: string | null
  persona: string | null
  mode: SessionMode
  phase: TurnPhase
  /** How it stands, in one word: also how the last turn ended. */
  condition: SessionCondition
  turnId: string | null
  turnStartedAt: string | null
  lastTurn: TurnEndReason | null
  /** In the last turn the agent asked while Chirality was gone, and went on without an answer. */
  leftUnanswered: boolean
  /** What the agent stated, and an estimate for what it has not stated yet. Null where nobody knows it. Never falls. */
  costUsd: number | null
  costIsEstimate: boolean
  /** All that models read and wrote, cached or not. */
  tokens: number
  /** Of all turns up to the last event, without what they waited for a person. */
  workedMs: number
  /** The session's own limits; null is none. */
  budgetUsd: number | null
  budgetTokens: number | null
  budgetMinutes: number | null
  updatedAt: string
  lastSeq: number
  /** The last thing the agent said or did, one line. */
  lastLine: string | null
  pending: PermissionRequestEvent[]
  /** Why no rule could answer what is pending: `<file>:<line>: <what is wrong>`, one a line. Null when no file is broken. */
  policyProblem: string | null
  queue: QueuedMessage[]
  /** Given to the turn that runs, and not taken by its agent yet. */
  steered: QueuedMessage[]
  queueHeld: boolean
  logHealth: LogHealth['state']
}
