import type { FileEdit, Todo, ToolFacts } from '../events/tool-facts.ts'
import type { BudgetScope, SessionErrorCode, StatusEvent } from '../events/ui-event.ts'
import { newSummary, type SessionSummary, type TurnState } from './summary.ts'

/** All that a view of one session needs, folded from its log by `reduceSession`: the summary and the transcript. */
export interface SessionState extends SessionSummary {
  /** In the order they appeared. Append-only, but for streamed text that the agent withdrew. */
  items: readonly SessionItem[]
  /**
   * What is still being written, by item id: text, thinking or the JSON of a tool's input. Kept beside `items` so that
   * a delta costs the same in a conversation of ten items and of ten thousand.
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
  /** Read them with `factsOf`: the events of an older log have none. */
  facts?: ToolFacts
  status: 'running' | 'done' | 'failed' | 'unfinished'
  content: string | null
  detail?: unknown
  /** What the result said of changed files. Read them with `editsOf`. */
  edits?: FileEdit[]
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
  todos?: Todo[]
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

/** A transcript that begins where `summary` ends: what comes is told with all that was before in its sums. */
export function stateAfter(summary: SessionSummary): SessionState {
  return { ...summary, items: [], live: Object.create(null) as Record<string, string>, turns: [] }
}

export function initialSessionState(sessionId: string): SessionState {
  return stateAfter(newSummary(sessionId))
}
