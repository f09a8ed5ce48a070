import type { UnknownName } from '../loose.ts'

/** One line that `codex exec --json` printed. */
export type CodexExecEvent =
  | CodexThreadStartedEvent
  | CodexTurnStartedEvent
  | CodexItemStartedEvent
  | CodexItemUpdatedEvent
  | CodexItemCompletedEvent
  | CodexTurnCompletedEvent
  | CodexTurnFailedEvent
  | CodexErrorEvent

export interface CodexThreadStartedEvent extends CodexEventBase {
  type: 'thread.started'
  thread_id?: string
}

export interface CodexTurnStartedEvent extends CodexEventBase {
  type: 'turn.started'
}

export interface CodexItemStartedEvent extends CodexEventBase {
  type: 'item.started'
  item?: CodexItem
}

export interface CodexItemUpdatedEvent extends CodexEventBase {
  type: 'item.updated'
  item?: CodexItem
}

export interface CodexItemCompletedEvent extends CodexEventBase {
  type: 'item.completed'
  item?: CodexItem
}

export interface CodexTurnCompletedEvent extends CodexEventBase {
  type: 'turn.completed'
  usage?: CodexUsage
}

export interface CodexTurnFailedEvent extends CodexEventBase {
  type: 'turn.failed'
  error?: { message?: string; [key: string]: unknown }
}

/**
 * Not the end of the turn: "Reconnecting... 1/5" is such an error too. Only a turn event or the exit of the process
 * ends a turn.
 */
export interface CodexErrorEvent extends CodexEventBase {
  type: 'error'
  message?: string
}

/** One message or action of the agent in `exec --json`. Ids count from `item_0` in every process. */
export type CodexItem =
  | CodexAgentMessageItem
  | CodexReasoningItem
  | CodexCommandExecutionItem
  | CodexFileChangeItem
  | CodexMcpToolCallItem
  | CodexCollabToolCallItem
  | CodexWebSearchItem
  | CodexTodoListItem
  | CodexErrorItem
  | CodexUnknownItem

export interface CodexItemBase extends CodexEventBase {
  id?: string
}

export interface CodexAgentMessageItem extends CodexItemBase {
  type: 'agent_message'
  text?: string
}

/** The summary, with its parts joined by newlines. Raw reasoning is never printed. */
export interface CodexReasoningItem extends CodexItemBase {
  type: 'reasoning'
  text?: string
}

export interface CodexCommandExecutionItem extends CodexItemBase {
  type: 'command_execution'
  command?: string
  aggregated_output?: string
  exit_code?: number | null
  status?: 'in_progress' | 'completed' | 'failed' | 'declined' | (string & {})
}

export interface CodexFileChangeItem extends CodexItemBase {
  type: 'file_change'
  changes?: { path?: string; kind?: 'add' | 'update' | 'delete' | (string & {}); [key: string]: unknown }[]
  status?: 'in_progress' | 'completed' | 'failed' | (string & {})
}

export interface CodexMcpToolCallItem extends CodexItemBase {
  type: 'mcp_tool_call'
  server?: string
  tool?: string
  arguments?: unknown
  result?: { content?: unknown[]; structured_content?: unknown; [key: string]: unknown } | null
  error?: { message?: string; [key: string]: unknown } | null
  status?: 'in_progress' | 'completed' | 'failed' | (string & {})
}

/** The agent starts, instructs or waits for another agent. */
export interface CodexCollabToolCallItem extends CodexItemBase {
  type: 'collab_tool_call'
  tool?: string
  sender_thread_id?: string
  receiver_thread_ids?: string[]
  prompt?: string | null
  agents_states?: Record<string, { status?: string; message?: string | null; [key: string]: unknown }>
  status?: 'in_progress' | 'completed' | 'failed' | (string & {})
}

/** Printed with two `id` keys; a JSON parser keeps the second, which is not an `item_N`. */
export interface CodexWebSearchItem extends CodexItemBase {
  type: 'web_search'
  query?: string
  action?: { type?: string; query?: string; queries?: string[]; url?: string; [key: string]: unknown }
}

export interface CodexTodoListItem extends CodexItemBase {
  type: 'todo_list'
  items?: { text?: string; completed?: boolean; [key: string]: unknown }[]
}

/** A warning: the turn goes on. */
export interface CodexErrorItem extends CodexItemBase {
  type: 'error'
  message?: string
}

export interface CodexUnknownItem extends CodexItemBase {
  type?: UnknownName
}

/**
 * What all native events share. Only `type`, `method` and `id` are ever checked: the other fields are declared as the
 * CLI documents and prints them, may be missing or wrong in another version, and fields not declared here are kept.
 */
export interface CodexEventBase {
  [key: string]: unknown
}

/** The tokens of a whole thread, not of a turn. Cached and reasoning tokens are included in the other counts. */
export interface CodexUsage {
  input_tokens?: number
  cached_input_tokens?: number
  cache_write_input_tokens?: number
  output_tokens?: number
  reasoning_output_tokens?: number
  [key: string]: unknown
}
