// The events that a person is shown. The first eight keep the names and fields of the harness specification; the others
// are additions. docs/events.md numbers the rules each event follows. Types, the check of a line of a log and the schema
// of the API all come from these shapes.

import {
  absent,
  anything,
  described,
  either,
  flag,
  list,
  number,
  object,
  oneOf,
  optional,
  orNull,
  record,
  type Shape,
  text,
  type ValueOf,
} from './shape.ts'
import { callFacts, fileEdit, todo } from './tool-facts.ts'

export const USAGE_INFO = object(
  {
    input_tokens: number,
    output_tokens: number,
    cache_read_input_tokens: optional(number),
    cache_creation_input_tokens: optional(number),
  },
  'UsageInfo',
)

const always = object({
  /** A line of a policy: `allow Bash(npm test)`. */
  rule: text,
  /** The scope of the rule: `this exact command`, `every call of this tool, with any input`. */
  words: text,
})

const risk = object({
  kind: oneOf(
    'delete',
    'script',
    'history',
    'root',
    'credentials',
    'network',
    'disk',
    'remote',
    'data',
    'publish',
    'rights',
  ),
  /** The part of the call that is meant, as far as it occurs literally: `rm -rf dist`. */
  part: text,
  /** The effect, as a sentence. */
  words: text,
})

const planWindow = object({
  /** `5 hours`, `week`, `week, Opus`. */
  name: text,
  /** Length of the period; undefined if the agent does not say. */
  minutes: optional(number),
  /** Undefined if the agent says only that the limit is not reached. 100 and more: reached. */
  usedPercent: optional(number),
  /** ISO 8601. */
  resetsAt: optional(text),
})

export const SESSION_ERROR_CODE = oneOf(
  'auth_failed',
  'billing',
  'rate_limited',
  'overloaded',
  'invalid_request',
  'model_not_found',
  'context_overflow',
  'api_error',
  'refused',
  'max_turns',
  'budget_exceeded',
  'structured_output',
  'interrupted',
  'session_not_found',
  'process_crashed',
  'not_installed',
  /** This release of the agent lacks a feature that the turn needs. */
  'unsupported',
  'timeout',
  'unknown',
)

export const TURN_END_REASON = oneOf(
  'completed',
  'failed',
  'interrupted',
  'killed',
  'crashed',
  'timeout',
  'max_turns',
  'budget',
)

const statusKind = oneOf(
  'requesting',
  'idle',
  'retrying',
  'rate_limited',
  'compacting',
  'compacted',
  'model_fallback',
  'refused',
  'permission_denied',
  'permission_mode',
  'hook',
  'task',
  'tool_progress',
  'interrupted',
  'resume_failed',
  'stalled',
  'cleanup',
  // A probe tried to leave the cage before the agent was started in it; `data` has each attempt.
  'caged',
  'notice',
)

/** On every event of a sub-agent: the id of the tool call that started it. */
const nested = { parentToolUseId: optional(text) }

const spent = {
  /**
   * Cost since the previous result, never the running total that agents report. Undefined: the agent knows no prices. A
   * failed turn costs money too.
   */
  costUsd: optional(number),
  /** Cost by list price, if the agent stated none. Set by the host when the event is recorded. */
  estimateUsd: optional(number),
}

function event<T extends string, F extends Readonly<Record<string, Shape>>>(type: T, fields: F, id?: string) {
  return object({ type: oneOf(type), sessionId: text, ...fields }, id)
}

export const UI_EVENTS = {
  /** A piece of assistant text. `messageId` names the text block that it belongs to. */
  'chat:delta': event('chat:delta', { ...nested, text, messageId: optional(text) }),
  /** The final answer, as the agent itself states it. */
  'chat:complete': event('chat:complete', {
    text,
    /** Set if a JSON schema was requested and met. */
    structuredOutput: optional(anything),
  }),
  /** A whole text block of the assistant; it replaces what the deltas of the same `messageId` built up. */
  'chat:message': event('chat:message', {
    ...nested,
    messageId: text,
    text,
    model: optional(text),
    /** The user or an error cut it short. */
    aborted: optional(flag),
    /** The streamed pieces were withdrawn (a broken stream is retried): discard them. */
    discarded: optional(flag),
  }),
  'chat:thinking': event('chat:thinking', {
    ...nested,
    text,
    messageId: text,
    /** True for the whole block, which replaces the pieces that came before it. */
    final: optional(flag),
  }),
  /** `input` is empty while the model is still writing it; a `tool:input` follows then. */
  'tool:start': event('tool:start', {
    ...nested,
    toolUseId: text,
    name: text,
    input: record,
    /** Set by every translator; missing in logs of earlier versions, for which `factsOf` derives it. */
    facts: optional(callFacts),
  }),
  /** Either the next piece of a tool's JSON input while it is written, or all of it. */
  'tool:input': either(
    event('tool:input', { ...nested, toolUseId: text, delta: text, input: absent, facts: absent }),
    event('tool:input', {
      ...nested,
      toolUseId: text,
      input: record,
      delta: absent,
      facts: optional(callFacts),
    }),
  ),
  'tool:result': event('tool:result', {
    ...nested,
    toolUseId: text,
    content: text,
    isError: flag,
    /** What the agent reports beyond the text: exit streams, a structured patch … */
    detail: optional(anything),
    /** The changes of the call, if the result has more details than the call. */
    edits: optional(list(fileEdit)),
  }),
  'session:init': event('session:init', {
    /** The agent's own session id, for every agent; used only to resume. */
    claudeSessionId: described(orNull(text), "The agent's own session id, for every agent."),
    model: text,
    tools: list(text),
    harness: optional(text),
    version: optional(text),
    cwd: optional(text),
    permissionMode: optional(text),
    /** The source of the credential: `none` means no API key, so a subscription or none at all. */
    apiKeySource: optional(text),
    mcpServers: optional(list(object({ name: text, status: text }))),
    slashCommands: optional(list(text)),
  }),
  'session:complete': event('session:complete', {
    ...spent,
    usage: USAGE_INFO,
    durationMs: optional(number),
    numTurns: optional(number),
    /** The cause of this result, if it was not the user's message: `task-notification` … */
    origin: optional(text),
    /**
     * The point at which the agent can cut its own conversation so that it knows everything up to here and nothing later.
     * For `HarnessTurnOpts.forkAt`.
     */
    forkPoint: optional(text),
  }),
  'session:error': event('session:error', {
    ...spent,
    error: text,
    code: SESSION_ERROR_CODE,
    /** HTTP status of the model API, if a request failed. */
    apiStatus: optional(number),
    /** The variable whose key was refused: a login does not help then. */
    credential: optional(text),
    /** True if the turn goes on, as after a resume that had to start a new conversation. */
    recovered: optional(flag),
    usage: optional(USAGE_INFO),
  }),
  'turn:start': event('turn:start', {
    message: text,
    /** The number of images or documents with the message. */
    attachments: optional(number),
  }),
  /** Exactly one for each turn, whatever happens. */
  'turn:end': event('turn:end', { reason: TURN_END_REASON, durationMs: optional(number) }),
  /** The last event of a turn whose process exited in it or with it. A turn whose agent is kept has none. */
  'process:exit': event('process:exit', {
    code: orNull(number),
    signal: orNull(text),
    /** Processes of the turn that still ran after every attempt to stop them. Undefined if it could not be determined. */
    leftRunning: optional(number),
  }),
  'permission:request': event(
    'permission:request',
    {
      ...nested,
      requestId: text,
      kind: oneOf('tool', 'question', 'plan', 'unknown'),
      toolName: text,
      input: record,
      /** As on the call that the request is about. */
      facts: optional(callFacts),
      toolUseId: optional(text),
      reason: optional(text),
      suggestions: optional(list(anything)),
      /**
       * The rule that "always" writes. Set by the host when it records the request; undefined if no rule expresses exactly
       * this call.
       */
      always: described(optional(always), 'The rule that "always" writes.'),
      /**
       * Why the call needs a closer look. Also set by the host; undefined if no risk was found. Never together with
       * `always`.
       */
      risks: described(optional(list(risk)), 'Why the call needs a closer look.'),
      agentId: optional(text),
      raw: optional(anything),
    },
    'PermissionRequest',
  ),
  'permission:resolved': event('permission:resolved', {
    requestId: text,
    outcome: oneOf('allowed', 'denied', 'cancelled'),
    by: oneOf('person', 'policy', 'timeout', 'agent', 'turn-end', 'failure'),
    /** The policy rule that answered. */
    rule: optional(text),
    message: optional(text),
    /** The input that the agent runs in place of the requested one. Only if it differs, and the agent can run it. */
    updatedInput: described(optional(record), 'The input that ran in place of the requested one.'),
    /** Of the call with that input, and its id. */
    facts: optional(callFacts),
    toolUseId: optional(text),
  }),
  /** A notice that is neither text, a tool nor an end. Shown as one line. */
  status: event('status', {
    ...nested,
    status: statusKind,
    message: text,
    level: oneOf('info', 'warn', 'error'),
    toolUseId: optional(text),
    data: optional(record),
    /** The plan of an agent that keeps it outside of its tools. */
    todos: optional(list(todo)),
  }),
  /** Token counts as they become known. One for each model answer; the turn's total is in `session:complete`. */
  usage: event('usage', {
    ...nested,
    usage: USAGE_INFO,
    model: optional(text),
    /** Cost by list price; undefined for a model without one. Set by the host when the event is recorded. */
    estimateUsd: optional(number),
  }),
  /** A budget is nearly or fully used up. One of the three pairs of numbers is set, by the unit of the budget. */
  budget: event('budget', {
    scope: oneOf('turn', 'session', 'persona', 'project'),
    /** Includes the assumed cost of tokens without a price. */
    spentUsd: optional(number),
    limitUsd: optional(number),
    spentTokens: optional(number),
    limitTokens: optional(number),
    /** Duration of turns, without the time they waited for a person. */
    spentMs: optional(number),
    limitMs: optional(number),
    /** The turn is stopped because of it. */
    exceeded: flag,
    /** Text for display: what was spent, and of which budget. */
    message: optional(text),
  }),
  /** The limits of the user's plan, as the agent last reported them. Only when something changed. */
  limits: event('limits', { windows: list(planWindow) }),
  /** A native event that this version does not know. Kept whole and shown with a "protocol drift" mark. */
  'native:unknown': event('native:unknown', {
    harness: text,
    /** `type` or `type/subtype` of the native event; `malformed` or `oversize` for a line that is not one. */
    nativeType: text,
    /** The whole line. Optional only because a value of unknown type is, after it was sent as JSON. */
    raw: optional(anything),
  }),
  /** Lines of the session log that could not be read back. */
  'log:gap': event('log:gap', { afterSeq: number, missing: number, reason: text }),
}

export type UIEventType = keyof typeof UI_EVENTS
export type EventOf<T extends UIEventType> = ValueOf<(typeof UI_EVENTS)[T]>
export type UIEvent = { [T in UIEventType]: EventOf<T> }[UIEventType]

export type ChatDeltaEvent = EventOf<'chat:delta'>
export type ChatCompleteEvent = EventOf<'chat:complete'>
export type ChatMessageEvent = EventOf<'chat:message'>
export type ChatThinkingEvent = EventOf<'chat:thinking'>
export type ToolStartEvent = EventOf<'tool:start'>
export type ToolInputEvent = EventOf<'tool:input'>
export type ToolResultEvent = EventOf<'tool:result'>
export type SessionInitEvent = EventOf<'session:init'>
export type SessionCompleteEvent = EventOf<'session:complete'>
export type SessionErrorEvent = EventOf<'session:error'>
export type TurnStartEvent = EventOf<'turn:start'>
export type TurnEndEvent = EventOf<'turn:end'>
export type ProcessExitEvent = EventOf<'process:exit'>
export type PermissionRequestEvent = EventOf<'permission:request'>
export type PermissionResolvedEvent = EventOf<'permission:resolved'>
export type StatusEvent = EventOf<'status'>
export type UsageEvent = EventOf<'usage'>
export type BudgetEvent = EventOf<'budget'>
export type LimitsEvent = EventOf<'limits'>
export type NativeUnknownEvent = EventOf<'native:unknown'>
export type LogGapEvent = EventOf<'log:gap'>

export type SessionErrorCode = SessionErrorEvent['code']
export type TurnEndReason = TurnEndEvent['reason']
export type StatusKind = StatusEvent['status']
export type BudgetScope = BudgetEvent['scope']
export type UsageInfo = ValueOf<typeof USAGE_INFO>
/** The one rule that "always" stands for: cards show it, and it is written to the user's policy unchanged. */
export type AlwaysRule = ValueOf<typeof always>
/** Why a call needs a closer look: the possible effect, and the part of the command that causes it. */
export type CallRisk = ValueOf<typeof risk>
export type RiskKind = CallRisk['kind']
/** A limit of a plan for a period of time. */
export type PlanWindow = ValueOf<typeof planWindow>

/** Stands for a text that the reader has already received in pieces. */
export const TEXT_REF = object({
  messageId: text,
  parentToolUseId: optional(text),
  /** The `seq` of the event that the text began with, and of the one that its last piece is in. */
  from: number,
  to: number,
  chars: number,
})
export type TextRef = ValueOf<typeof TEXT_REF>

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
