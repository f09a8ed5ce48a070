import type { ClaudeEventBase } from './base.ts'

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

/** The CLI takes back a request that nobody has answered. */
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
