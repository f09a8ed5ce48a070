// The part of the Messages API that is used here. Undeclared fields are kept and sent back unchanged.

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string | readonly ContentBlock[]
}

export type ContentBlock =
  | TextBlock
  | FileBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  | OtherBlock

export interface TextBlock {
  type: 'text'
  text: string
}

/** An image, PDF or plain text that the user attached. */
export interface FileBlock {
  type: 'image' | 'document'
  source: { type: 'base64' | 'text'; media_type: string; data: string }
}

export type PromptBlock = TextBlock | FileBlock

/** The API accepts a thinking block only with its signature. */
export interface ThinkingBlock {
  type: 'thinking'
  thinking: string
  signature: string
}

export interface RedactedThinkingBlock {
  type: 'redacted_thinking'
  data: string
}

export interface ToolUseBlock {
  type: 'tool_use'
  id: string
  name: string
  input: Record<string, unknown>
}

export interface ToolResultBlock {
  type: 'tool_result'
  tool_use_id: string
  content: string
  is_error?: boolean
}

/** A block with an unknown `type`. */
export interface OtherBlock {
  type: 'other'
  raw: Record<string, unknown>
}

/** Why the model stopped. Unknown names are passed on. */
export type ModelStop =
  | 'end_turn'
  | 'tool_use'
  | 'max_tokens'
  | 'stop_sequence'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'
  | (string & {})

/** One server-sent event, unchanged. */
export interface ApiEvent {
  type: string
  [key: string]: unknown
}
