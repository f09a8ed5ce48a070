// What a person is shown. The first eight keep the names and fields of the harness specification; the rest are
// ours. docs/events.md numbers the rules each event follows.

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
  | NativeUnknownEvent
  | LogGapEvent

export type UIEventType = UIEvent['type']

interface Base {
  sessionId: string
}

/** Set on everything that a sub-agent says or does: the id of the tool call that started it. */
interface MaybeNested {
  parentToolUseId?: string
}

/** A piece of assistant text. `messageId` names the text block that it belongs to. */
export interface ChatDeltaEvent extends Base, MaybeNested {
  type: 'chat:delta'
  text: string
  messageId?: string
}

/** The agent's final answer, as the agent itself states it. */
export interface ChatCompleteEvent extends Base {
  type: 'chat:complete'
  text: string
  /** Present when a JSON schema was asked for and met. */
  structuredOutput?: unknown
}

/** `input` is empty while the model is still writing it; a `tool:input` follows then. */
export interface ToolStartEvent extends Base, MaybeNested {
  type: 'tool:start'
  toolUseId: string
  name: string
  input: Record<string, unknown>
  /** By every translator; missing in logs of earlier versions, which `factsOf` makes up for. */
  facts?: ToolFacts
}

export interface ToolResultEvent extends Base, MaybeNested {
  type: 'tool:result'
  toolUseId: string
  content: string
  isError: boolean
  /** What the agent knows beyond the text: exit streams, a structured patch … */
  detail?: unknown
  /** What the call changed, where the result says more of it than the call did. */
  edits?: FileEdit[]
}

export interface SessionInitEvent extends Base {
  type: 'session:init'
  /** The agent's own id, whichever agent it is; used only to resume. */
  claudeSessionId: string | null
  model: string
  tools: string[]
  harness?: string
  version?: string
  cwd?: string
  permissionMode?: string
  mcpServers?: { name: string; status: string }[]
  slashCommands?: string[]
  /** Who pays: `none` means no API key, so a subscription or nobody. */
  apiKeySource?: string
}

export interface SessionCompleteEvent extends Base {
  type: 'session:complete'
  /** Cost since the previous result, never the running total that agents report. Absent: the agent knows no prices. */
  costUsd?: number
  /** By list price, where the agent stated no cost. Written by the host when the event is recorded. */
  estimateUsd?: number
  usage: UsageInfo
  durationMs?: number
  numTurns?: number
  /** Why this result came, when not from the user's message: `task-notification` … */
  origin?: string
  /** Where the agent can cut its own conversation to know all up to here and nothing later. For `HarnessTurnOpts.forkAt`. */
  forkPoint?: string
}

export interface SessionErrorEvent extends Base {
  type: 'session:error'
  error: string
  code: SessionErrorCode
  /** HTTP status of the model API, where that is what failed. */
  apiStatus?: number
  /** The variable whose key was refused: a login does not help against it. */
  credential?: string
  /** True when the turn goes on all the same, as after a resume that had to start afresh. */
  recovered?: boolean
  /** Failing costs money too. */
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
  /** This release of the agent does not take what the turn needs. */
  | 'unsupported'
  | 'timeout'
  | 'unknown'

/** The last event of a turn whose process ended in it or with it. An agent that is kept for the next turn has none. */
export interface ProcessExitEvent extends Base {
  type: 'process:exit'
  code: number | null
  signal: string | null
  /** Processes of the turn that were still alive after everything was tried. Absent when nobody can know that there are none. */
  leftRunning?: number
}

export interface TurnStartEvent extends Base {
  type: 'turn:start'
  message: string
  /** How many images or documents came with the message. */
  attachments?: number
}

/** Exactly one per turn, whatever happens. */
export interface TurnEndEvent extends Base {
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

export interface ChatThinkingEvent extends Base, MaybeNested {
  type: 'chat:thinking'
  text: string
  messageId: string
  /** True for the whole block, which replaces the pieces that came before it. */
  final?: boolean
}

/** A whole text block of the assistant; it replaces what the deltas of the same `messageId` built up. */
export interface ChatMessageEvent extends Base, MaybeNested {
  type: 'chat:message'
  messageId: string
  text: string
  model?: string
  /** The user or an error cut it short. */
  aborted?: boolean
  /** The streamed pieces were withdrawn (a broken stream that is tried again): forget them. */
  discarded?: boolean
}

/** Either the next piece of a tool's JSON input while it is written, or all of it. */
export type ToolInputEvent = Base &
  MaybeNested & { type: 'tool:input'; toolUseId: string } & (
    | { delta: string; input?: undefined; facts?: undefined }
    | { input: Record<string, unknown>; delta?: undefined; facts?: ToolFacts }
  )

export interface PermissionRequestEvent extends Base, MaybeNested {
  type: 'permission:request'
  requestId: string
  kind: 'tool' | 'question' | 'plan' | 'unknown'
  toolName: string
  input: Record<string, unknown>
  /** As on the call that it asks about. */
  facts?: ToolFacts
  toolUseId?: string
  reason?: string
  suggestions?: unknown[]
  /** What "always" writes. Set by the host when it records the request; absent where no rule says exactly what is asked. */
  always?: AlwaysRule
  /** Why the call needs a second look. Set by the host, too; absent where nothing dangerous was found. Never with `always`. */
  risks?: CallRisk[]
  agentId?: string
  raw: unknown
}

/** The one rule that "always" stands for: cards show it, and the user's policy gets it, word for word. */
export interface AlwaysRule {
  /** A line of a policy: `allow Bash(npm test)`. */
  rule: string
  /** How much that is: `this exact command`, `every call of this tool, with any input`. */
  words: string
}

/** Why a call needs a second look: what can happen, and the part of the command that does it. */
export interface CallRisk {
  kind: RiskKind
  /** The words of the call that are meant, as far as they stand in it: `rm -rf dist`. */
  part: string
  /** The effect, as a sentence. */
  words: string
}

export type RiskKind = 'delete' | 'script' | 'history' | 'root' | 'credentials' | 'network' | 'disk'

export interface PermissionResolvedEvent extends Base {
  type: 'permission:resolved'
  requestId: string
  outcome: 'allowed' | 'denied' | 'cancelled'
  by: 'person' | 'policy' | 'timeout' | 'agent' | 'turn-end' | 'failure'
  /** The rule of a policy that answered. */
  rule?: string
  message?: string
}

/** Something a person should know that is neither text, a tool nor an end. Shown as one quiet line. */
export interface StatusEvent extends Base, MaybeNested {
  type: 'status'
  status: StatusKind
  message: string
  level: 'info' | 'warn' | 'error'
  toolUseId?: string
  data?: Record<string, unknown>
  /** The agent's plan, of one that keeps it outside of its tools. */
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

/** Token counts as they become known. One per model answer; the turn's total is in `session:complete`. */
export interface UsageEvent extends Base, MaybeNested {
  type: 'usage'
  usage: UsageInfo
  model?: string
  /** By list price; absent for a model without one. Written by the host when the event is recorded. */
  estimateUsd?: number
}

/** A budget is nearly or fully used up. One of the three pairs of numbers is there, by what the budget counts. */
export interface BudgetEvent extends Base {
  type: 'budget'
  scope: BudgetScope
  /** With what tokens without a price count as. */
  spentUsd?: number
  limitUsd?: number
  spentTokens?: number
  limitTokens?: number
  /** Time of turns, without what they waited for a person. */
  spentMs?: number
  limitMs?: number
  /** The turn is stopped for it. */
  exceeded: boolean
  /** For people: what was spent, and of what. */
  message?: string
}

export type BudgetScope = 'turn' | 'session' | 'persona' | 'project'

/** A native event this version does not know. Kept whole and shown with a "protocol drift" mark. */
export interface NativeUnknownEvent extends Base {
  type: 'native:unknown'
  harness: string
  /** `type` or `type/subtype` of the native event; `malformed` or `oversize` for a line that is not one. */
  nativeType: string
  raw: unknown
}

/** Lines of the session log that could not be read back. */
export interface LogGapEvent extends Base {
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

/** One line of a session's log: an event, where it stands, when it came and in which turn. */
export interface Envelope {
  /** Dense and increasing from 1 within a session. The only order there is; clocks jump. */
  seq: number
  /** ISO 8601 with milliseconds. */
  at: string
  sessionId: string
  /** null for what happens between turns. */
  turnId: string | null
  event: UIEvent
}

/**
 * For the default branch of a switch over a union: a new variant is a compile error here, while data from a newer
 * version, which the types cannot see, passes without harm.
 */
export function unreachable(_value: never): void {}
