import type {
  HarnessId,
  PermissionRequestEvent,
  SessionCondition,
  SessionMode,
  TurnEndReason,
} from '@chirality/core'
import type { LogHealth } from '../log/file/log-writer.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import type { Shelf } from '../store/stored-session.ts'
import type { TurnPhase } from './turn-phase.ts'

/** A worktree as far as a session shows it. */
export interface SessionWorktree {
  id: string
  /** The folder of the project in the worktree. Null if the user's records do not know the worktree. */
  folder: string | null
  branch: string | null
  /** The branch it began at, if it was one. */
  baseBranch: string | null
}

/** The entry of a session in the list. */
export interface SessionStatus {
  sessionId: string
  projectRoot: string
  /** The worktree that the agent works in. Undefined if it works in the project's folder. */
  worktree?: SessionWorktree
  title: string | null
  harness: HarnessId | null
  model: string | null
  persona: string | null
  mode: SessionMode
  /** Where a person put it: `pinned` on top of the lists, `archived` out of them. */
  shelf: Shelf
  phase: TurnPhase
  /** The state in one word, including how the last turn ended. */
  condition: SessionCondition
  turnId: string | null
  turnStartedAt: string | null
  lastTurn: TurnEndReason | null
  /** In the last turn the agent asked while Chirality was not running, and continued without an answer. */
  leftUnanswered: boolean
  /**
   * The cost that the agent reported, plus an estimate for what it has not reported. Null when unknown. Never falls.
   */
  costUsd: number | null
  costIsEstimate: boolean
  /** All tokens, cached or not. */
  tokens: number
  /** The duration of all turns up to the last event, without waiting for the user. */
  workedMs: number
  /** The session's limits; null is no limit. */
  budgetUsd: number | null
  budgetTokens: number | null
  budgetMinutes: number | null
  updatedAt: string
  lastSeq: number
  /** One line for the agent's last message or action. */
  lastLine: string | null
  pending: PermissionRequestEvent[]
  /**
   * Why no rule could answer the pending request: `<file>:<line>: <error>`, one per line. Null when every file is
   * valid.
   */
  policyProblem: string | null
  queue: QueuedMessage[]
  /** Messages given to the running turn that the agent has not taken yet. */
  steered: QueuedMessage[]
  queueHeld: boolean
  logHealth: LogHealth['state']
}
