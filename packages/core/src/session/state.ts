import type {
  BudgetScope,
  PermissionRequestEvent,
  SessionErrorCode,
  StatusEvent,
  TurnEndReason,
  UsageInfo,
} from '../events/ui-event.ts'
import { type CostLedger, NO_COST } from '../money/cost.ts'

/** All that a view of one session needs, folded from its log by `reduceSession`. */
export interface SessionState {
  sessionId: string
  /** The last `seq` that was folded in: the cursor to subscribe after. */
  seq: number
  phase: SessionPhase
  agent: AgentFacts
  /** In the order they appeared. Append-only, but for streamed text that the agent withdrew. */
  items: readonly SessionItem[]
  /**
   * What is still being written, by item id: text, thinking or the JSON of a tool's input. Kept beside `items` so that
   * a delta costs the same in a conversation of ten items and of ten thousand.
   */
  live: Readonly<Record<string, string>>
  turns: readonly TurnState[]
  /** What the agent is doing now; cleared by whatever comes next. */
  status: StatusEvent | null
  /** Requests that wait for a decision, oldest first. */
  pending: readonly PermissionRequestEvent[]
  /** Null when tokens were used and nobody knows their price. Never falls. */
  costUsd: number | null
  /** A part of it is by list price, or has no price. */
  costIsEstimate: boolean
  /** What `addCost` keeps, now and when the last turn began. */
  ledger: CostLedger
  turnLedger: CostLedger
  usage: UsageInfo
  /** Tokens the latest model answer of the main conversation had in view. */
  contextTokens: number
  /** Native events this version does not know. */
  driftCount: number
}

export type SessionPhase = 'idle' | 'running' | 'waiting'

export interface AgentFacts {
  harness: string | null
  nativeSessionId: string | null
  model: string | null
  version: string | null
  permissionMode: string | null
  tools: readonly string[]
}

export interface TurnState {
  id: string | null
  startedAt: string
  endedAt: string | null
  reason: TurnEndReason | null
  costUsd: number | null
  costIsEstimate: boolean
}

export type SessionItem =
  | UserItem
  | TextItem
  | ThinkingItem
  | ToolItem
  | NoticeItem
  | ErrorItem
  | BudgetItem
  | GapItem

interface ItemBase {
  /** The number of the event that it began with: unlike `id`, which is the agent's, no other item has it. */
  seq: number
  id: string
  at: string
  turnId: string | null
  /** The tool call of the sub-agent this belongs to. */
  parentToolUseId?: string
}

export interface UserItem extends ItemBase {
  kind: 'user'
  text: string
  attachments: number
}

export interface TextItem extends ItemBase {
  kind: 'text'
  /** Empty while `streaming`: the text so far is in `live`. */
  text: string
  streaming: boolean
  aborted: boolean
}

export interface ThinkingItem extends ItemBase {
  kind: 'thinking'
  text: string
  streaming: boolean
}

export interface ToolItem extends ItemBase {
  kind: 'tool'
  name: string
  input: Record<string, unknown>
  status: 'running' | 'done' | 'failed' | 'unfinished'
  content: string | null
  detail?: unknown
  endedAt: string | null
  /** The tool's own time, without what a person took to decide. Null while it runs, and for a call that was denied. */
  durationMs: number | null
  /** There as soon as its time is not simply that since `at`. */
  wait?: ToolWait
}

export interface ToolWait {
  /** When the call was complete. */
  from: string
  /** Since when somebody is asked about it. */
  askedAt: string | null
  /** What earlier requests took. */
  waitedMs: number
  denied?: boolean
  /** The call only began something; its result is not its end. */
  background?: boolean
}

export interface NoticeItem extends ItemBase {
  kind: 'notice'
  status: StatusEvent['status']
  level: StatusEvent['level']
  message: string
  data?: Record<string, unknown>
}

export interface ErrorItem extends ItemBase {
  kind: 'error'
  code: SessionErrorCode
  message: string
  recovered: boolean
  /** The variable whose key was refused. */
  credential?: string
}

/** A budget that is nearly or fully used up; the latest word of a turn about it. */
export interface BudgetItem extends ItemBase {
  kind: 'budget'
  scope: BudgetScope
  exceeded: boolean
  message: string
  limitUsd?: number
  limitTokens?: number
  limitMs?: number
}

export interface GapItem extends ItemBase {
  kind: 'gap'
  missing: number
  reason: string
}

export function initialSessionState(sessionId: string): SessionState {
  return {
    sessionId,
    seq: 0,
    phase: 'idle',
    agent: {
      harness: null,
      nativeSessionId: null,
      model: null,
      version: null,
      permissionMode: null,
      tools: [],
    },
    items: [],
    live: Object.create(null) as Record<string, string>,
    turns: [],
    status: null,
    pending: [],
    costUsd: 0,
    costIsEstimate: false,
    ledger: NO_COST,
    turnLedger: NO_COST,
    usage: { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    contextTokens: 0,
    driftCount: 0,
  }
}
