// The part of the Messages API that is used here. Fields that are not named are kept and sent back as they came.

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

/** A picture, a PDF or a plain text that a person attached. */
export interface FileBlock {
  type: 'image' | 'document'
  source: { type: 'base64' | 'text'; media_type: string; data: string }
}

/** What a person can say. */
export type PromptBlock = TextBlock | FileBlock

/** Only with its signature may it be sent back. */
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

/** A block of a type that this version does not know: `type` is none of the above. */
export interface OtherBlock {
  type: 'other'
  raw: Record<string, unknown>
}

/** Why the model stopped; names that are not known are passed on. */
export type StopReason =
  | 'end_turn'
  | 'tool_use'
  | 'max_tokens'
  | 'stop_sequence'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'
  | (string & {})

/** One server-sent event, as it came. */
export interface ApiEvent {
  type: string
  [key: string]: unknown
}
