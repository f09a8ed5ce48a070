import type {
  ClaudeControlCancelRequestEvent,
  ClaudeControlRequestEvent,
  ClaudeControlResponseEvent,
} from './control-events.ts'
import type { ClaudeAssistantEvent, ClaudeStreamEvent, ClaudeUserEvent } from './message-events.ts'
import type {
  ClaudeActiveGoalEvent,
  ClaudeAuthStatusEvent,
  ClaudeCommandLifecycleEvent,
  ClaudeConversationResetEvent,
  ClaudeKeepAliveEvent,
  ClaudePromptSuggestionEvent,
  ClaudeRateLimitEvent,
  ClaudeToolProgressEvent,
  ClaudeToolUseSummaryEvent,
} from './other-events.ts'
import type { ClaudeResultEvent } from './result-event.ts'
import type { ClaudeSystemEvent } from './system-events.ts'

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

/** A value that this version has no type for, whole. */
export interface ClaudeUnknownEvent {
  type: 'unknown'
  /** `type`, or `type/subtype` of a system event; `not-an-object` or `no-type` where there is no name. */
  nativeType: string
  raw: unknown
}
