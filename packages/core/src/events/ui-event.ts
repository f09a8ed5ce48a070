// The events that a person is shown. The first eight keep the names and fields of the harness specification; the others
// are additions. docs/events.md numbers the rules each event follows.

import type { FileEdit, Todo, ToolFacts } from './tool-facts.ts'

export type UIEvent =
  | ChatDeltaEvent
  | ChatCompleteEvent
  | ToolStartEvent
  | ToolResultEvent
  | SessionInitEvent
  | SessionCompleteEvent
  | SessionErrorEvent
  | ProcessExitEvent
  | TurnStartEvent
  | TurnEndEvent
  | ChatThinkingEvent
  | ChatMessageEvent
  | ToolInputEvent
  | PermissionRequestEvent
  | PermissionResolvedEvent
  | StatusEvent
  | UsageEvent
  | BudgetEvent
  | LimitsEvent
  | NativeUnknownEvent
  | LogGapEvent

export type UIEventType = UIEvent['type']

export interface UIEventBase {
  sessionId: string
}

/** Set on every event of a sub-agent: the id of the tool call that started it. */
export interface MaybeNestedEvent {
  parentToolUseId?: string
}

/** A piece of assistant text. `messageId` names the text block that it belongs to. */
export interface ChatDeltaEvent extends UIEventBase, MaybeNestedEvent {
  type: 'chat:delta'
  text: string
  messageId?: string
}

/** The final answer, as the agent itself states it. */
export interface ChatCompleteEvent extends UIEventBase {
  type: 'chat:complete'
  text: string
  /** Set if a JSON schema was requested and met. */
  structuredOutput?: unknown
}

/** `input` is empty while the model is still writing it; a `tool:input` follows then. */
export interface ToolStartEvent extends UIEventBase, MaybeNestedEvent {
  type: 'tool:start'
  toolUseId: string
  name: string
  input: Record<string, unknown>
  /** Set by every translator; missing in logs of earlier versions, for which `factsOf` derives it. */
  facts?: ToolFacts
}

export interface ToolResultEvent extends UIEventBase, MaybeNestedEvent {
  type: 'tool:result'
  toolUseId: string
  content: string
  isError: boolean
  /** What the agent reports beyond the text: exit streams, a structured patch … */
  detail?: unknown
  /** The changes of the call, if the result has more details than the call. */
  edits?: FileEdit[]
}

export interface SessionInitEvent extends UIEventBase {
  type: 'session:init'
  /** The agent's own session id, for every agent; used only to resume. */
  claudeSessionId: string | null
  model: string
  tools: string[]
  harness?: string
  version?: string
  cwd?: string
  permissionMode?: string
  mcpServers?: { name: string; status: string }[]
  slashCommands?: string[]
  /** The source of the credential: `none` means no API key, so a subscription or none at all. */
  apiKeySource?: string
}

export interface SessionCompleteEvent extends UIEventBase {
  type: 'session:complete'
  /**
   * Cost since the previous result, never the running total that agents report. Undefined: the agent knows no prices.
   */
  costUsd?: number
  /** Cost by list price, if the agent stated none. Set by the host when the event is recorded. */
  estimateUsd?: number
  usage: UsageInfo
  durationMs?: number
  numTurns?: number
  /** The cause of this result, if it was not the user's message: `task-notification` … */
  origin?: string
  /**
   * The point at which the agent can cut its own conversation so that it knows everything up to here and nothing later.
   * For `HarnessTurnOpts.forkAt`.
   */
  forkPoint?: string
}

export interface SessionErrorEvent extends UIEventBase {
  type: 'session:error'
  error: string
  code: SessionErrorCode
  /** HTTP status of the model API, if a request failed. */
  apiStatus?: number
  /** The variable whose key was refused: a login does not help then. */
  credential?: string
  /** True if the turn goes on, as after a resume that had to start a new conversation. */
  recovered?: boolean
  /** A failed turn costs money too. */
  costUsd?: number
  /** As in `session:complete`. */
  estimateUsd?: number
  usage?: UsageInfo
}

export type SessionErrorCode =
  | 'auth_failed'
  | 'billing'
  | 'rate_limited'
  | 'overloaded'
  | 'invalid_request'
  | 'model_not_found'
  | 'context_overflow'
  | 'api_error'
  | 'refused'
  | 'max_turns'
  | 'budget_exceeded'
  | 'structured_output'
  | 'interrupted'
  | 'session_not_found'
  | 'process_crashed'
  | 'not_installed'
  /** This release of the agent lacks a feature that the turn needs. */
  | 'unsupported'
  | 'timeout'
  | 'unknown'

/** The last event of a turn whose process exited in it or with it. A turn whose agent is kept has none. */
export interface ProcessExitEvent extends UIEventBase {
  type: 'process:exit'
  code: number | null
  signal: string | null
  /** Processes of the turn that still ran after every attempt to stop them. Undefined if it could not be determined. */
  leftRunning?: number
}

export interface TurnStartEvent extends UIEventBase {
  type: 'turn:start'
  message: string
  /** The number of images or documents with the message. */
  attachments?: number
}

/** Exactly one for each turn, whatever happens. */
export interface TurnEndEvent extends UIEventBase {
  type: 'turn:end'
  reason: TurnEndReason
  durationMs?: number
}

export type TurnEndReason =
  | 'completed'
  | 'failed'
  | 'interrupted'
  | 'killed'
  | 'crashed'
  | 'timeout'
  | 'max_turns'
  | 'budget'

export interface ChatThinkingEvent extends UIEventBase, MaybeNestedEvent {
  type: 'chat:thinking'
  text: string
  messageId: string
  /** True for the whole block, which replaces the pieces that came before it. */
  final?: boolean
}

/** A whole text block of the assistant; it replaces what the deltas of the same `messageId` built up. */
export interface ChatMessageEvent extends UIEventBase, MaybeNestedEvent {
  type: 'chat:message'
  messageId: string
  text: string
  model?: string
  /** The user or an error cut it short. */
  aborted?: boolean
  /** The streamed pieces were withdrawn (a broken stream is retried): discard them. */
  discarded?: boolean
}

/** Either the next piece of a tool's JSON input while it is written, or all of it. */
export type ToolInputEvent = UIEventBase &
  MaybeNestedEvent & { type: 'tool:input'; toolUseId: string } & (
    | { delta: string; input?: undefined; facts?: undefined }
    | { input: Record<string, unknown>; delta?: undefined; facts?: ToolFacts }
  )

export interface PermissionRequestEvent extends UIEventBase, MaybeNestedEvent {
  type: 'permission:request'
  requestId: string
  kind: 'tool' | 'question' | 'plan' | 'unknown'
  toolName: string
  input: Record<string, unknown>
  /** As on the call that the request is about. */
  facts?: ToolFacts
  toolUseId?: string
  reason?: string
  suggestions?: unknown[]
  /**
   * The rule that "always" writes. Set by the host when it records the request; undefined if no rule expresses exactly
   * this call.
   */
  always?: AlwaysRule
  /**
   * Why the call needs a closer look. Also set by the host; undefined if no risk was found. Never together with
   * `always`.
   */
  risks?: CallRisk[]
  agentId?: string
  raw?: unknown
}

/** The one rule that "always" stands for: cards show it, and it is written to the user's policy unchanged. */
export interface AlwaysRule {
  /** A line of a policy: `allow Bash(npm test)`. */
  rule: string
  /** The scope of the rule: `this exact command`, `every call of this tool, with any input`. */
  words: string
}

/** Why a call needs a closer look: the possible effect, and the part of the command that causes it. */
export interface CallRisk {
  kind: RiskKind
  /** The part of the call that is meant, as far as it occurs literally: `rm -rf dist`. */
  part: string
  /** The effect, as a sentence. */
  words: string
}

export type RiskKind =
  | 'delete'
  | 'script'
  | 'history'
  | 'root'
  | 'credentials'
  | 'network'
  | 'disk'
  | 'remote'
  | 'data'
  | 'publish'
  | 'rights'

export interface PermissionResolvedEvent extends UIEventBase {
  type: 'permission:resolved'
  requestId: string
  outcome: 'allowed' | 'denied' | 'cancelled'
  by: 'person' | 'policy' | 'timeout' | 'agent' | 'turn-end' | 'failure'
  /** The policy rule that answered. */
  rule?: string
  message?: string
  /** The input that the agent runs in place of the requested one. Only if it differs, and the agent can run it. */
  updatedInput?: Record<string, unknown>
  /** Of the call with that input, and its id. */
  facts?: ToolFacts
  toolUseId?: string
}

/** A notice that is neither text, a tool nor an end. Shown as one line. */
export interface StatusEvent extends UIEventBase, MaybeNestedEvent {
  type: 'status'
  status: StatusKind
  message: string
  level: 'info' | 'warn' | 'error'
  toolUseId?: string
  data?: Record<string, unknown>
  /** The plan of an agent that keeps it outside of its tools. */
  todos?: Todo[]
}

export type StatusKind =
  | 'requesting'
  | 'idle'
  | 'retrying'
  | 'rate_limited'
  | 'compacting'
  | 'compacted'
  | 'model_fallback'
  | 'refused'
  | 'permission_denied'
  | 'permission_mode'
  | 'hook'
  | 'task'
  | 'tool_progress'
  | 'interrupted'
  | 'resume_failed'
  | 'stalled'
  | 'cleanup'
  | 'notice'

/** Token counts as they become known. One for each model answer; the turn's total is in `session:complete`. */
export interface UsageEvent extends UIEventBase, MaybeNestedEvent {
  type: 'usage'
  usage: UsageInfo
  model?: string
  /** Cost by list price; undefined for a model without one. Set by the host when the event is recorded. */
  estimateUsd?: number
}

/** A budget is nearly or fully used up. One of the three pairs of numbers is set, by the unit of the budget. */
export interface BudgetEvent extends UIEventBase {
  type: 'budget'
  scope: BudgetScope
  /** Includes the assumed cost of tokens without a price. */
  spentUsd?: number
  limitUsd?: number
  spentTokens?: number
  limitTokens?: number
  /** Duration of turns, without the time they waited for a person. */
  spentMs?: number
  limitMs?: number
  /** The turn is stopped because of it. */
  exceeded: boolean
  /** Text for display: what was spent, and of which budget. */
  message?: string
}

/** The limits of the user's plan, as the agent last reported them. Only when something changed. */
export interface LimitsEvent extends UIEventBase {
  type: 'limits'
  windows: PlanWindow[]
}

/** A limit of a plan for a period of time. */
export interface PlanWindow {
  /** `5 hours`, `week`, `week, Opus`. */
  name: string
  /** Length of the period; undefined if the agent does not say. */
  minutes?: number
  /** Undefined if the agent says only that the limit is not reached. 100 and more: reached. */
  usedPercent?: number
  /** ISO 8601. */
  resetsAt?: string
}

export type BudgetScope = 'turn' | 'session' | 'persona' | 'project'

/** A native event that this version does not know. Kept whole and shown with a "protocol drift" mark. */
export interface NativeUnknownEvent extends UIEventBase {
  type: 'native:unknown'
  harness: string
  /** `type` or `type/subtype` of the native event; `malformed` or `oversize` for a line that is not one. */
  nativeType: string
  /** The whole line. Optional only because a value of unknown type is, after it was sent as JSON. */
  raw?: unknown
}

/** Lines of the session log that could not be read back. */
export interface LogGapEvent extends UIEventBase {
  type: 'log:gap'
  afterSeq: number
  missing: number
  reason: string
}

export interface UsageInfo {
  input_tokens: number
  output_tokens: number
  cache_read_input_tokens?: number
  cache_creation_input_tokens?: number
}

/** One line of a session's log: an event with its number, time and turn. */
export interface Envelope {
  /** Consecutive numbers from 1 within a session. They define the order, because clocks can jump. */
  seq: number
  /** ISO 8601 with milliseconds. */
  at: string
  sessionId: string
  /** null for events between turns. */
  turnId: string | null
  event: UIEvent
}
