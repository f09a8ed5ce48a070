/**
 * One line of this harness's raw log. The words are those of Claude Code's stream-json, because the content is the same:
 * `stream_event` holds what the API sent, `assistant` and `user` what became of it. Three are our own: `request`,
 * `stream_error` and `stalled`.
 */
export interface MessagesApiEvent {
  type: MessagesApiEventType
  session_id: string
  [key: string]: unknown
}

export type MessagesApiEventType =
  | 'system'
  | 'stream_event'
  | 'assistant'
  | 'user'
  | 'result'
  | 'control_request'
  | 'control_response'
  | 'control_cancel_request'
  | 'tool_progress'
  | 'request'
  | 'stream_error'
  | 'stalled'

export type NewEvent = Omit<MessagesApiEvent, 'session_id'> & { type: MessagesApiEventType }

export type Emit = (event: NewEvent) => void
