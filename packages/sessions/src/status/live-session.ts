import type { ContextUsage, PermissionMode, SessionMode } from '@chirality/core'
import type { SessionLog } from '../log/session-log.ts'
import type { MessageQueue } from '../queue/message-queue.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import type { TurnRequest } from '../queue/turn-request.ts'
import type { SessionStatus } from '../status/session-status.ts'
import type { SessionSettings } from '../store/session-settings.ts'
import type { StoredSession } from '../store/stored-session.ts'

/** A session that this process runs. */
export interface LiveSession {
  readonly id: string
  readonly status: SessionStatus
  /** As its log has it now. */
  readonly stored: StoredSession
  readonly log: SessionLog
  readonly queue: MessageQueue
  /**
   * Starts a turn. Resolves once `turn:start` is in the log. Throws a `CodedError`: `busy` while one runs, and
   * a `StartErrorCode` for what is wrong before the start.
   */
  start(message: string, request?: TurnRequest): Promise<StartedTurn>
  /** Starts a turn, or queues the message behind the running one. */
  send(message: string, request?: TurnRequest): Promise<StartedTurn | QueuedTurn>
  /** Sends the message into the running turn, if the harness can; otherwise puts it first in the queue. */
  steer(message: string, request?: TurnRequest): Promise<{ steered: true } | StartedTurn | QueuedTurn>
  interrupt(): void
  /** Resolves when no process of the turn runs any more. */
  kill(): Promise<void>
  /** Something that the agent is told with its next message, and that the conversation shows now. */
  tellAgent(note: AgentNote): Promise<void>
  /** What the agent is told with its next message, oldest first. */
  untold(): Promise<string[]>
  prewarm(request?: TurnRequest): Promise<void>
  /** For later turns, and for the running one if its agent can change the mode while it works: then it is `now`. */
  setPermissionMode(mode: PermissionMode): Promise<'now' | 'next-turn'>
  /** What the next turns run with. Null is the agent's own choice; undefined leaves a setting unchanged. */
  configure(changes: SessionChanges): Promise<StoredSession>
  /**
   * The limits for all turns of the session together, from now on; null is no limit, undefined leaves a limit
   * unchanged.
   */
  setBudget(budget: SessionBudget): Promise<StoredSession>
  contextUsage(): Promise<ContextUsage | undefined>
  /** Resolves when no turn runs and the queue is empty or paused. */
  settled(): Promise<void>
}

export interface AgentNote {
  /** For the agent. */
  note: string
  /** For the person who reads the conversation. */
  shown: string
}

export interface SessionChanges {
  model?: string
  thinking?: SessionSettings['thinking'] | null
  mode?: SessionMode
  maxTurns?: number | null
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
