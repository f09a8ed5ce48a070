import type { ClaudeEventBase } from './base.ts'

export type ClaudeSystemEvent =
  | ClaudeSystemInitEvent
  | ClaudeSystemStatusEvent
  | ClaudeApiRetryEvent
  | ClaudeSystemCompactBoundaryEvent
  | ClaudeHookEvent
  | ClaudeInformationalEvent
  | ClaudeNotificationEvent
  | ClaudeLocalCommandOutputEvent
  | ClaudeModelFallbackEvent
  | ClaudeModelRefusalEvent
  | ClaudePermissionDeniedEvent
  | ClaudeSessionStateEvent
  | ClaudeSessionTitleEvent
  | ClaudeTaskEvent
  | ClaudeTaskUpdatedEvent
  | ClaudeBackgroundTasksEvent
  | ClaudeHousekeepingEvent

export type ClaudeSystemSubtype = ClaudeSystemEvent['subtype']

/** Printed once per turn, not always as the first line. */
export interface ClaudeSystemInitEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'init'
  cwd?: string
  model?: string
  tools?: string[]
  mcp_servers?: { name?: string; status?: string; [key: string]: unknown }[]
  permissionMode?: string
  slash_commands?: string[]
  apiKeySource?: string
  claude_code_version?: string
  agents?: string[]
  skills?: string[]
  plugins?: { name?: string; path?: string; [key: string]: unknown }[]
}

export interface ClaudeSystemStatusEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'status'
  status?: 'requesting' | 'compacting' | (string & {}) | null
  permissionMode?: string
  compact_result?: string
  compact_error?: string
}

export interface ClaudeApiRetryEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'api_retry'
  attempt?: number
  max_retries?: number
  retry_delay_ms?: number
  /** null when there was no HTTP response. */
  error_status?: number | null
  error?: string
}

export interface ClaudeSystemCompactBoundaryEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'compact_boundary'
  compact_metadata?: { trigger?: string; pre_tokens?: number; post_tokens?: number; [key: string]: unknown }
}

export interface ClaudeHookEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'hook_started' | 'hook_progress' | 'hook_response'
  hook_id?: string
  hook_name?: string
  hook_event?: string
  output?: string
  stdout?: string
  stderr?: string
  exit_code?: number
  outcome?: string
}

export type ClaudeSystemHookStartedEvent = ClaudeHookEvent & { subtype: 'hook_started' }
export type ClaudeSystemHookProgressEvent = ClaudeHookEvent & { subtype: 'hook_progress' }
export type ClaudeSystemHookResponseEvent = ClaudeHookEvent & { subtype: 'hook_response' }

export interface ClaudeInformationalEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'informational'
  content?: string
  level?: string
  tool_use_id?: string
}

export interface ClaudeNotificationEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'notification'
  text?: string
  priority?: string
}

export interface ClaudeLocalCommandOutputEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'local_command_output'
  content?: string
}

export interface ClaudeModelFallbackEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'model_fallback' | 'model_refusal_fallback'
  trigger?: string
  original_model?: string
  fallback_model?: string
  content?: string
  /** `uuid`s of messages that the refusal takes back. */
  retracted_message_uuids?: string[]
}

export interface ClaudeModelRefusalEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'model_refusal_no_fallback'
  original_model?: string
  api_refusal_category?: string | null
  api_refusal_explanation?: string | null
  content?: string
}

/** 2.1.325; older versions only list denials in the result. */
export interface ClaudePermissionDeniedEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'permission_denied'
  tool_name?: string
  tool_use_id?: string
  message?: string
  decision_reason?: string
  decision_reason_type?: string
}

export interface ClaudeSessionStateEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'session_state_changed'
  state?: 'idle' | 'running' | 'requires_action' | (string & {})
}

export interface ClaudeSessionTitleEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'session_title_changed'
  title?: string
}

export interface ClaudeTaskEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'task_started' | 'task_progress' | 'task_notification'
  task_id?: string
  tool_use_id?: string
  task_type?: string
  subagent_type?: string
  description?: string
  summary?: string
  status?: string
  last_tool_name?: string
  is_backgrounded?: boolean
  output_file?: string
  usage?: { total_tokens?: number; tool_uses?: number; duration_ms?: number; [key: string]: unknown }
}

export type ClaudeSystemTaskNotificationEvent = ClaudeTaskEvent & { subtype: 'task_notification' }

export interface ClaudeTaskUpdatedEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'task_updated'
  task_id?: string
  patch?: { status?: string; description?: string; error?: string; [key: string]: unknown }
}

export interface ClaudeBackgroundTasksEvent extends ClaudeEventBase {
  type: 'system'
  subtype: 'background_tasks_changed'
  tasks?: { task_id?: string; task_type?: string; description?: string; [key: string]: unknown }[]
}

/** Known types with nothing to show. */
export interface ClaudeHousekeepingEvent extends ClaudeEventBase {
  type: 'system'
  subtype:
    | 'commands_changed'
    | 'control_request_progress'
    | 'elicitation_complete'
    | 'files_persisted'
    | 'memory_recall'
    | 'mirror_error'
    | 'plugin_install'
    | 'post_turn_summary'
    | 'session_writes_lost'
    | 'stop_hook_summary'
    | 'thinking_tokens'
    | 'turn_duration'
    | 'worker_shutting_down'
}

export type ClaudeSystemFilesPersistedEvent = ClaudeHousekeepingEvent & { subtype: 'files_persisted' }
