import { isObject } from '../loose.ts'
import type { ClaudeAssistantEvent, ClaudeStreamEvent, ClaudeUserEvent } from './message-events.ts'
import type {
  ClaudeActiveGoalEvent,
  ClaudeAuthStatusEvent,
  ClaudeCommandLifecycleEvent,
  ClaudeControlCancelRequestEvent,
  ClaudeControlRequestEvent,
  ClaudeControlResponseEvent,
  ClaudeConversationResetEvent,
  ClaudeKeepAliveEvent,
  ClaudePromptSuggestionEvent,
  ClaudeRateLimitEvent,
  ClaudeResultEvent,
  ClaudeToolProgressEvent,
  ClaudeToolUseSummaryEvent,
} from './other-events.ts'
import type { ClaudeSystemEvent, ClaudeSystemSubtype } from './system-events.ts'

/** One line that Claude Code printed with `--output-format stream-json`. */
export type ClaudeEvent =
  | ClaudeSystemEvent
  | ClaudeAssistantEvent
  | ClaudeUserEvent
  | ClaudeStreamEvent
  | ClaudeResultEvent
  | ClaudeControlRequestEvent
  | ClaudeControlCancelRequestEvent
  | ClaudeControlResponseEvent
  | ClaudeToolProgressEvent
  | ClaudeToolUseSummaryEvent
  | ClaudeRateLimitEvent
  | ClaudeCommandLifecycleEvent
  | ClaudeConversationResetEvent
  | ClaudePromptSuggestionEvent
  | ClaudeAuthStatusEvent
  | ClaudeActiveGoalEvent
  | ClaudeKeepAliveEvent
  | ClaudeUnknownEvent

/** An event of an unknown type, unchanged. */
export interface ClaudeUnknownEvent {
  type: 'unknown'
  /** `type`, or `type/subtype` of a system event; `not-an-object` or `no-type` if there is no name. */
  nativeType: string
  raw: unknown
}

/**
 * Gives a parsed line its type. Never throws and never copies: a known event is the same object. Only `type` and a
 * system event's `subtype` are checked. A `result` or `control_request` with a new subtype is accepted, because a turn
 * has to end and a request has to be answered.
 */
export function parseClaudeEvent(json: unknown): ClaudeEvent {
  if (!isObject(json)) return unknownEvent('not-an-object', json)
  const { type } = json
  if (typeof type !== 'string') return unknownEvent('no-type', json)
  if (type === 'system') {
    const { subtype } = json
    if (typeof subtype !== 'string') return unknownEvent('system', json)
    if (!SYSTEM_SUBTYPES.has(subtype)) return unknownEvent(`system/${subtype}`, json)
  } else if (!EVENT_TYPES.has(type)) {
    return unknownEvent(type, json)
  }
  return json as unknown as ClaudeEvent
}

function unknownEvent(nativeType: string, raw: unknown): ClaudeUnknownEvent {
  return { type: 'unknown', nativeType, raw }
}

type KnownType = Exclude<ClaudeEvent['type'], 'unknown' | 'system'>

// Records, so that a type that is added to the union but not here does not compile.
const EVENT_TYPES: ReadonlySet<string> = keys<KnownType>({
  active_goal: true,
  assistant: true,
  auth_status: true,
  command_lifecycle: true,
  control_cancel_request: true,
  control_request: true,
  control_response: true,
  conversation_reset: true,
  keep_alive: true,
  prompt_suggestion: true,
  rate_limit_event: true,
  result: true,
  stream_event: true,
  tool_progress: true,
  tool_use_summary: true,
  user: true,
})

const SYSTEM_SUBTYPES: ReadonlySet<string> = keys<ClaudeSystemSubtype>({
  api_retry: true,
  background_tasks_changed: true,
  commands_changed: true,
  compact_boundary: true,
  control_request_progress: true,
  elicitation_complete: true,
  files_persisted: true,
  hook_progress: true,
  hook_response: true,
  hook_started: true,
  informational: true,
  init: true,
  local_command_output: true,
  memory_recall: true,
  mirror_error: true,
  model_fallback: true,
  model_refusal_fallback: true,
  model_refusal_no_fallback: true,
  notification: true,
  permission_denied: true,
  plugin_install: true,
  post_turn_summary: true,
  session_state_changed: true,
  session_title_changed: true,
  session_writes_lost: true,
  status: true,
  stop_hook_summary: true,
  task_notification: true,
  task_progress: true,
  task_started: true,
  task_updated: true,
  thinking_tokens: true,
  turn_duration: true,
  worker_shutting_down: true,
})

function keys<K extends string>(record: Record<K, true>): ReadonlySet<string> {
  return new Set(Object.keys(record))
}
