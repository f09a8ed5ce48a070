import type { FileEdit, Todo, ToolFacts } from '../events/tool-facts.ts'
import type {
  BudgetScope,
  PermissionResolvedEvent,
  SessionErrorCode,
  StatusEvent,
} from '../events/ui-event.ts'
import { newSummary, type SessionSummary, type TurnState } from './summary.ts'

/** The state for a view of one session, folded from its log by `reduceSession`: the summary and the transcript. */
export interface SessionState extends SessionSummary {
  /** In the order of appearance. Append-only, except for streamed text that the agent withdrew. */
  items: readonly SessionItem[]
  /**
   * The content that is still being written, by item id: text, thinking or the JSON of a tool's input. Separate from
   * `items` so that a delta costs the same in a conversation of ten items and of ten thousand.
   */
  live: Readonly<Record<string, string>>
  turns: readonly TurnState[]
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

export interface SessionItemBase {
  /** The `seq` of its first event: unlike `id`, which is the agent's, it is unique. */
  seq: number
  id: string
  at: string
  turnId: string | null
  /** The id of the sub-agent's tool call that this belongs to. */
  parentToolUseId?: string
}

export interface UserItem extends SessionItemBase {
  kind: 'user'
  text: string
  attachments: number
}

export interface TextItem extends SessionItemBase {
  kind: 'text'
  /** Empty while `streaming`: the text so far is in `live`. */
  text: string
  streaming: boolean
  aborted: boolean
}

export interface ThinkingItem extends SessionItemBase {
  kind: 'thinking'
  text: string
  streaming: boolean
}

export interface ToolItem extends SessionItemBase {
  kind: 'tool'
  name: string
  input: Record<string, unknown>
  /** Read with `factsOf`: events of an older log have none. */
  facts?: ToolFacts
  status: 'running' | 'done' | 'failed' | 'unfinished'
  content: string | null
  detail?: unknown
  /** The changed files by the result. Read with `editsOf`. */
  edits?: FileEdit[]
  endedAt: string | null
  /** The tool's own duration, without the time a person took to decide. Null while it runs, and for a denied call. */
  durationMs: number | null
  /** Set if its duration is not simply the time since `at`. */
  wait?: ToolWait
  /** The last answer to a request about it. */
  decided?: CallDecision
  /** Set if another input ran: what the agent had asked for. `input` and `facts` are those that ran. */
  asked?: { input: Record<string, unknown>; facts?: ToolFacts }
}

export type CallDecision = Pick<PermissionResolvedEvent, 'outcome' | 'by' | 'rule' | 'message'>

export interface ToolWait {
  /** When the call was complete. */
  from: string
  /** The start of the pending request about it. */
  askedAt: string | null
  /** The total duration of earlier requests. */
  waitedMs: number
  /** The call only started a background task; its result is not the end. */
  background?: boolean
}

export interface NoticeItem extends SessionItemBase {
  kind: 'notice'
  status: StatusEvent['status']
  level: StatusEvent['level']
  message: string
  data?: Record<string, unknown>
  todos?: Todo[]
}

export interface ErrorItem extends SessionItemBase {
  kind: 'error'
  code: SessionErrorCode
  message: string
  recovered: boolean
  /** The variable whose key was refused. */
  credential?: string
}

/** A budget that is nearly or fully used up; the latest state in a turn. */
export interface BudgetItem extends SessionItemBase {
  kind: 'budget'
  scope: BudgetScope
  exceeded: boolean
  message: string
  limitUsd?: number
  limitTokens?: number
  limitMs?: number
}

export interface GapItem extends SessionItemBase {
  kind: 'gap'
  missing: number
  reason: string
}

/** A transcript that begins where `summary` ends: the sums include everything before. */
export function stateAfter(summary: SessionSummary): SessionState {
  return { ...summary, items: [], live: Object.create(null) as Record<string, string>, turns: [] }
}

export function initialSessionState(sessionId: string): SessionState {
  return stateAfter(newSummary(sessionId))
}
