/**
 * One line of this harness's raw log, in the format of Claude Code's stream-json: `stream_event` holds an API event,
 * `assistant` and `user` hold messages. Three types are specific to this harness: `request`, `stream_error` and
 * `stalled`.
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
