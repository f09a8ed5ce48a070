import type { ContextUsage, PermissionMode } from '@chirality/core'
import type { SessionLog } from '../log/session-log.ts'
import type { MessageQueue } from '../queue/message-queue.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import type { TurnRequest } from '../queue/turn-request.ts'
import type { SessionStatus } from '../status/session-status.ts'
import type { StoredSession } from '../store/stored-session.ts'

/** A session that this process runs. */
export interface LiveSession {
  readonly id: string
  readonly status: SessionStatus
  readonly log: SessionLog
  readonly queue: MessageQueue
  /**
   * Starts a turn. Resolves once `turn:start` is in the log. Throws `SessionBusyError` while one runs, and
   * `SessionStartError` for what is wrong before the start.
   */
  start(message: string, request?: TurnRequest): Promise<StartedTurn>
  /** Starts, or queues behind the turn that runs. */
  send(message: string, request?: TurnRequest): Promise<StartedTurn | QueuedTurn>
  /** Into the turn that runs, where the harness can; else first in the queue. */
  steer(message: string, request?: TurnRequest): Promise<{ steered: true } | StartedTurn | QueuedTurn>
  interrupt(): void
  /** Resolves when nothing of the turn runs any more. */
  kill(): Promise<void>
  prewarm(request?: TurnRequest): Promise<void>
  /** For the turn that runs and those to come. */
  setPermissionMode(mode: PermissionMode): Promise<void>
  /** The most that all turns of the session may spend together, from now on; null is no limit, what is left out stays. */
  setBudget(budget: SessionBudget): Promise<StoredSession>
  contextUsage(): Promise<ContextUsage | undefined>
  /** Resolves when no turn runs and the queue is empty or held. */
  settled(): Promise<void>
}

export interface SessionBudget {
  usd?: number | null
  tokens?: number | null
  minutes?: number | null
}

export interface StartedTurn {
  turnId: string
}

export interface QueuedTurn {
  queued: QueuedMessage
}
