import type { ClaudeEventBase, ClaudeNestedEventBase } from './base.ts'

/** `parent_tool_use_id` is the running tool here; `tool_use_id` is an artificial one. */
export interface ClaudeToolProgressEvent extends ClaudeNestedEventBase {
  type: 'tool_progress'
  tool_use_id?: string
  tool_name?: string
  elapsed_time_seconds?: number
  heartbeat?: boolean
  task_id?: string
}

export interface ClaudeToolUseSummaryEvent extends ClaudeEventBase {
  type: 'tool_use_summary'
  summary?: string
  preceding_tool_use_ids?: string[]
}

/** Only with a subscription, never with an API key. */
export interface ClaudeRateLimitEvent extends ClaudeEventBase {
  type: 'rate_limit_event'
  rate_limit_info?: ClaudeRateLimitInfo
}

export interface ClaudeRateLimitInfo {
  status?: 'allowed' | 'allowed_warning' | 'rejected' | (string & {})
  /** Seconds since 1970. */
  resetsAt?: number
  rateLimitType?: string
  /** 0 to 1. */
  utilization?: number
  isUsingOverage?: boolean
  [key: string]: unknown
}

export interface ClaudeCommandLifecycleEvent extends ClaudeEventBase {
  type: 'command_lifecycle'
  command_uuid?: string
  state?: string
}

/** `/clear`: the process goes on with a new conversation and a new session id. */
export interface ClaudeConversationResetEvent extends ClaudeEventBase {
  type: 'conversation_reset'
  new_conversation_id?: string
  trigger?: string
}

export interface ClaudePromptSuggestionEvent extends ClaudeEventBase {
  type: 'prompt_suggestion'
  suggestion?: string
}

export interface ClaudeAuthStatusEvent extends ClaudeEventBase {
  type: 'auth_status'
  isAuthenticating?: boolean
  output?: string[]
  error?: string
}

export interface ClaudeActiveGoalEvent extends ClaudeEventBase {
  type: 'active_goal'
  value?: { condition?: string; iterations?: number; last_reason?: string; [key: string]: unknown } | null
}

export interface ClaudeKeepAliveEvent extends ClaudeEventBase {
  type: 'keep_alive'
}
