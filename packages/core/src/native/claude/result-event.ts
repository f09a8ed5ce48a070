import type { ClaudeEventBase, ClaudeUsage } from './base.ts'

/** The end of a turn. One process can print several. */
export interface ClaudeResultEvent extends ClaudeEventBase {
  type: 'result'
  /** `error_…` is a failure. `success` says nothing: API and login failures come as that, too. */
  subtype?: string
  /** A failure; up to 2.1.86 not every one. */
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
  /** Of this turn, and of the main agent only. */
  usage?: ClaudeUsage
  /** Running totals per model. */
  modelUsage?: Record<string, ClaudeModelUsage>
  model_usage_since_last_result?: Record<string, ClaudeModelUsage>
  permission_denials?: ClaudePermissionDenial[]
  /** Why there was a turn, when no person asked for it. */
  origin?: { kind?: string; [key: string]: unknown }
  /** Only of our own agent: the last message of its transcript. */
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
