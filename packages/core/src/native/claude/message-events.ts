import type { UnknownName } from '../loose.ts'
import type { ClaudeNestedEventBase, ClaudeUsage } from './base.ts'

/** One finished content block. The blocks of one model answer come as several events with the same `message.id`. */
export interface ClaudeAssistantEvent extends ClaudeNestedEventBase {
  type: 'assistant'
  message?: ClaudeMessage
  /** Set on the synthetic message that repeats an API failure as text. */
  error?: string
  /** Cut short by an interrupt (2.1.325; older versions do not say). */
  aborted?: boolean
  /** `uuid`s of earlier messages that this one replaces. */
  supersedes?: string[]
}

/** Tool results, and messages that the CLI adds to the conversation. */
export interface ClaudeUserEvent extends ClaudeNestedEventBase {
  type: 'user'
  message?: { role?: string; content?: string | ClaudeContentBlock[]; [key: string]: unknown }
  /** An object when the tool succeeded, a text when it failed; missing for sub-agents. */
  tool_use_result?: unknown
  isReplay?: boolean
  isSynthetic?: boolean
}

export interface ClaudeMessage {
  id?: string
  /** `<synthetic>` when the CLI wrote the text, not a model. */
  model?: string
  content?: ClaudeContentBlock[] | string
  stop_reason?: string | null
  /** The counts at the start of the answer: `output_tokens` is wrong here. */
  usage?: ClaudeUsage
  [key: string]: unknown
}

export type ClaudeContentBlock =
  | { type: 'text'; text?: string; [key: string]: unknown }
  | { type: 'thinking'; thinking?: string; signature?: string; [key: string]: unknown }
  | { type: 'redacted_thinking'; data?: string; [key: string]: unknown }
  | { type: 'tool_use'; id?: string; name?: string; input?: Record<string, unknown>; [key: string]: unknown }
  | {
      type: 'tool_result'
      tool_use_id?: string
      content?: string | ClaudeContentBlock[]
      is_error?: boolean
      [key: string]: unknown
    }
  | { type: 'image'; source?: { media_type?: string; [key: string]: unknown }; [key: string]: unknown }
  | { type: UnknownName; [key: string]: unknown }

/** The result of a call, which the agent sends to the model in a message of the user. */
export type ClaudeUserContentBlock = Extract<ClaudeContentBlock, { type: 'tool_result' }>

/** A piece of an answer while the model writes it; only with `--include-partial-messages`. */
export interface ClaudeStreamEvent extends ClaudeNestedEventBase {
  type: 'stream_event'
  event?: ClaudeApiStreamEvent
  /** With a `message_stop` (2.1.325): the stream broke or was stopped, and the blocks from this one on do not count. */
  abandoned_blocks?: { api_message_id?: string; from_block_index?: number }
}

export type ClaudeApiStreamEvent =
  | { type: 'message_start'; message?: ClaudeMessage; [key: string]: unknown }
  | {
      type: 'content_block_start'
      index?: number
      content_block?: ClaudeContentBlock
      [key: string]: unknown
    }
  | { type: 'content_block_delta'; index?: number; delta?: ClaudeDelta; [key: string]: unknown }
  | { type: 'content_block_stop'; index?: number; [key: string]: unknown }
  | {
      type: 'message_delta'
      delta?: { stop_reason?: string | null; [key: string]: unknown }
      usage?: ClaudeUsage
      [key: string]: unknown
    }
  | { type: 'message_stop'; [key: string]: unknown }
  | { type: UnknownName; [key: string]: unknown }

export type ClaudeDelta =
  | { type: 'text_delta'; text?: string; [key: string]: unknown }
  | { type: 'thinking_delta'; thinking?: string; [key: string]: unknown }
  | { type: 'signature_delta'; signature?: string; [key: string]: unknown }
  | { type: 'input_json_delta'; partial_json?: string; [key: string]: unknown }
  | { type: UnknownName; [key: string]: unknown }
