import type { ClaudeEventBase, ClaudeNestedEventBase, ClaudeUsage } from './base.ts'

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

/** The CLI asks its host something and waits for a `control_response`. */
export interface ClaudeControlRequestEvent extends ClaudeEventBase {
  type: 'control_request'
  request_id?: string
  request?: ClaudeCanUseToolRequest | { subtype?: string; [key: string]: unknown }
}

export interface ClaudeCanUseToolRequest {
  subtype: 'can_use_tool'
  tool_name?: string
  display_name?: string
  input?: Record<string, unknown>
  tool_use_id?: string
  description?: string
  permission_suggestions?: unknown[]
  blocked_path?: string
  decision_reason?: string
  decision_reason_type?: string
  /** Set when a sub-agent asks. */
  agent_id?: string
  requires_user_interaction?: boolean
  [key: string]: unknown
}

/** The CLI withdraws an unanswered request. */
export interface ClaudeControlCancelRequestEvent extends ClaudeEventBase {
  type: 'control_cancel_request'
  request_id?: string
}

/** The answer to a request of the host. */
export interface ClaudeControlResponseEvent extends ClaudeEventBase {
  type: 'control_response'
  response?: {
    subtype?: 'success' | 'error' | (string & {})
    request_id?: string
    response?: unknown
    error?: string
    [key: string]: unknown
  }
}

/** The end of a turn. One process can print several. */
export interface ClaudeResultEvent extends ClaudeEventBase {
  type: 'result'
  /** `error_…` is a failure. `success` does not exclude one: API and login failures have it, too. */
  subtype?: string
  /** True for a failure, but up to 2.1.86 not for every one. */
  is_error?: boolean
  result?: string
  errors?: string[]
  structured_output?: unknown
  stop_reason?: string | null
  terminal_reason?: string
  api_error_status?: number | null
  api_error_type?: string
  duration_ms?: number
  duration_api_ms?: number
  num_turns?: number
  /** Running total of the process; over `--resume` too in 2.1.325. */
  total_cost_usd?: number
  /** Of this turn and the main agent only. */
  usage?: ClaudeUsage
  /** Running totals per model. */
  modelUsage?: Record<string, ClaudeModelUsage>
  model_usage_since_last_result?: Record<string, ClaudeModelUsage>
  permission_denials?: ClaudePermissionDenial[]
  /** The cause of a turn that the user did not start. */
  origin?: { kind?: string; [key: string]: unknown }
  /** Only from the Messages API harness: the last line of its transcript. */
  fork_point?: string
}

export interface ClaudeModelUsage {
  inputTokens?: number
  outputTokens?: number
  cacheReadInputTokens?: number
  cacheCreationInputTokens?: number
  costUSD?: number
  [key: string]: unknown
}

export interface ClaudePermissionDenial {
  tool_name?: string
  tool_use_id?: string
  tool_input?: Record<string, unknown>
  [key: string]: unknown
}
