import type {
  AlwaysRule,
  CallRisk,
  Envelope,
  FileEdit,
  PermissionRequestEvent,
  PlanWindow,
  Question,
  TextRef,
  Todo,
  ToolFacts,
  ToolInputEvent,
  UIEvent,
  UIEventType,
  UsageInfo,
} from '@chirality/core'
import { z } from 'zod'

// The events of a session, checked against the types of core: a field that only one of them has does not compile.
// docs/events.md has the rules that each event follows.

const text = z.string()
const number = z.number()
const flag = z.boolean()
const object = z.record(z.string(), z.unknown())

const todo = z.strictObject({ text, state: z.enum(['open', 'active', 'done']) }) satisfies z.ZodType<Todo>

const hunk = z.strictObject({
  ...{ oldStart: number, oldLines: number, newStart: number, newLines: number },
  lines: z.array(text).describe('Each begins with a blank, `+` or `-`.'),
})

const edit = z
  .strictObject({
    path: text,
    change: z.enum(['add', 'update', 'delete']),
    movedTo: text.optional(),
    hunks: z.array(hunk).optional(),
    text: text.optional().describe('The whole content of a file that is added or deleted.'),
    swaps: z.array(z.strictObject({ before: text, after: text, all: flag.optional() })).optional(),
  })
  .meta({ id: 'FileEdit' }) satisfies z.ZodType<FileEdit>

const question = z.strictObject({
  name: text.describe('The text of the question; its answer is stored under this key.'),
  id: text.optional(),
  header: text.nullable(),
  options: z.array(z.strictObject({ label: text, description: text.nullable() })),
  multiSelect: flag,
  onlyOptions: flag.optional().describe('The agent takes nothing but its options.'),
}) satisfies z.ZodType<Question>

const facts = z
  .strictObject({
    kind: z.enum(['read', 'edit', 'execute', 'search', 'fetch', 'think', 'task', 'other']),
    ...{ label: text, object: text, command: text.optional(), purpose: text.optional() },
    edits: z.array(edit).optional(),
    todos: z.array(todo).optional(),
    questions: z.array(question).optional(),
  })
  .meta({ id: 'ToolFacts' }) satisfies z.ZodType<ToolFacts>

const usage = z
  .strictObject({
    ...{ input_tokens: number, output_tokens: number },
    ...{ cache_read_input_tokens: number.optional(), cache_creation_input_tokens: number.optional() },
  })
  .meta({ id: 'UsageInfo' }) satisfies z.ZodType<UsageInfo>

const always = z.strictObject({ rule: text, words: text }) satisfies z.ZodType<AlwaysRule>

const risk = z.strictObject({
  kind: z.enum([
    ...(['delete', 'script', 'history', 'root', 'credentials', 'network', 'disk'] as const),
    ...(['remote', 'data', 'publish', 'rights'] as const),
  ]),
  ...{ part: text, words: text },
}) satisfies z.ZodType<CallRisk>

const window = z.strictObject({
  ...{ name: text, minutes: number.optional(), usedPercent: number.optional(), resetsAt: text.optional() },
}) satisfies z.ZodType<PlanWindow>

export const errorCode = z.enum([
  ...(['auth_failed', 'billing', 'rate_limited', 'overloaded', 'invalid_request'] as const),
  ...(['model_not_found', 'context_overflow', 'api_error', 'refused', 'max_turns'] as const),
  ...(['budget_exceeded', 'structured_output', 'interrupted', 'session_not_found'] as const),
  ...(['process_crashed', 'not_installed', 'unsupported', 'timeout', 'unknown'] as const),
])

const statusKind = z.enum([
  ...(['requesting', 'idle', 'retrying', 'rate_limited', 'compacting', 'compacted'] as const),
  ...(['model_fallback', 'refused', 'permission_denied', 'permission_mode', 'hook', 'task'] as const),
  ...(['tool_progress', 'interrupted', 'resume_failed', 'stalled', 'cleanup', 'notice'] as const),
])

export const turnEndReason = z.enum([
  ...(['completed', 'failed', 'interrupted', 'killed'] as const),
  ...(['crashed', 'timeout', 'max_turns', 'budget'] as const),
])

/** With `textOnce`: `text` is empty, because the reader has had it in the pieces from this `seq` to that. */
const sentBefore = z
  .strictObject({
    messageId: text,
    parentToolUseId: text.optional(),
    from: number,
    to: number,
    chars: number,
  })
  .optional()
  .describe('Where the text was sent before, if `textOnce` was asked for.') satisfies z.ZodType<
  TextRef | undefined
>

/** Of a sub-agent: the id of the tool call that started it. */
const nested = { parentToolUseId: text.optional() }
const spent = { costUsd: number.optional(), estimateUsd: number.optional() }

function event<T extends UIEventType, S extends z.ZodRawShape>(type: T, fields: S) {
  return z.strictObject({ type: z.literal(type), sessionId: text, ...fields })
}

export const permissionRequest = event('permission:request', {
  ...nested,
  requestId: text,
  kind: z.enum(['tool', 'question', 'plan', 'unknown']),
  ...{ toolName: text, input: object, facts: facts.optional(), toolUseId: text.optional() },
  reason: text.optional(),
  suggestions: z.array(z.unknown()).optional(),
  always: always.optional().describe('The rule that "always" writes.'),
  risks: z.array(risk).optional().describe('Why the call needs a closer look.'),
  agentId: text.optional(),
  raw: z.unknown().optional(),
}).meta({ id: 'PermissionRequest' }) satisfies z.ZodType<PermissionRequestEvent>

/** Either the next piece of the input, or all of it. */
const toolInput = z.union([
  event('tool:input', { ...nested, toolUseId: text, delta: text }),
  event('tool:input', { ...nested, toolUseId: text, input: object, facts: facts.optional() }),
]) satisfies z.ZodType<ToolInputEvent>

const EVENTS = {
  'chat:delta': event('chat:delta', { ...nested, text, messageId: text.optional() }),
  'chat:complete': event('chat:complete', {
    text,
    structuredOutput: z.unknown().optional(),
    textOf: sentBefore,
  }),
  'chat:message': event('chat:message', {
    ...{ ...nested, messageId: text, text, model: text.optional() },
    ...{ aborted: flag.optional(), discarded: flag.optional(), textOf: sentBefore },
  }),
  'chat:thinking': event('chat:thinking', { ...nested, text, messageId: text, final: flag.optional() }),
  'tool:start': event('tool:start', {
    ...nested,
    toolUseId: text,
    name: text,
    input: object,
    facts: facts.optional(),
  }),
  'tool:input': toolInput,
  'tool:result': event('tool:result', {
    ...{ ...nested, toolUseId: text, content: text, isError: flag },
    ...{ detail: z.unknown().optional(), edits: z.array(edit).optional() },
  }),
  'session:init': event('session:init', {
    claudeSessionId: text.nullable().describe("The agent's own session id, for every agent."),
    ...{ model: text, tools: z.array(text), harness: text.optional(), version: text.optional() },
    ...{ cwd: text.optional(), permissionMode: text.optional(), apiKeySource: text.optional() },
    mcpServers: z.array(z.strictObject({ name: text, status: text })).optional(),
    slashCommands: z.array(text).optional(),
  }),
  'session:complete': event('session:complete', {
    ...{ ...spent, usage, durationMs: number.optional(), numTurns: number.optional() },
    ...{ origin: text.optional(), forkPoint: text.optional() },
  }),
  'session:error': event('session:error', {
    ...{ ...spent, error: text, code: errorCode, apiStatus: number.optional() },
    ...{ credential: text.optional(), recovered: flag.optional(), usage: usage.optional() },
  }),
  'turn:start': event('turn:start', { message: text, attachments: number.optional() }),
  'turn:end': event('turn:end', { reason: turnEndReason, durationMs: number.optional() }),
  'process:exit': event('process:exit', {
    ...{ code: number.nullable(), signal: text.nullable(), leftRunning: number.optional() },
  }),
  'permission:request': permissionRequest,
  'permission:resolved': event('permission:resolved', {
    requestId: text,
    outcome: z.enum(['allowed', 'denied', 'cancelled']),
    by: z.enum(['person', 'policy', 'timeout', 'agent', 'turn-end', 'failure']),
    ...{ rule: text.optional(), message: text.optional() },
    updatedInput: object.optional().describe('The input that ran in place of the requested one.'),
    ...{ facts: facts.optional(), toolUseId: text.optional() },
  }),
  status: event('status', {
    ...{ ...nested, status: statusKind, message: text, level: z.enum(['info', 'warn', 'error']) },
    ...{ toolUseId: text.optional(), data: object.optional(), todos: z.array(todo).optional() },
  }),
  usage: event('usage', { ...nested, usage, model: text.optional(), estimateUsd: number.optional() }),
  budget: event('budget', {
    scope: z.enum(['turn', 'session', 'persona', 'project']),
    ...{ spentUsd: number.optional(), limitUsd: number.optional() },
    ...{ spentTokens: number.optional(), limitTokens: number.optional() },
    ...{ spentMs: number.optional(), limitMs: number.optional() },
    ...{ exceeded: flag, message: text.optional() },
  }),
  limits: event('limits', { windows: z.array(window) }),
  'native:unknown': event('native:unknown', { harness: text, nativeType: text, raw: z.unknown().optional() }),
  'log:gap': event('log:gap', { afterSeq: number, missing: number, reason: text }),
} satisfies Record<UIEventType, z.ZodType>

export const uiEvent = z.union(Object.values(EVENTS)).meta({
  id: 'UIEvent',
  description: 'What happened, by its `type`. docs/events.md has the rules.',
}) satisfies z.ZodType<UIEvent>

export const envelope = z
  .strictObject({
    seq: z.int().positive().describe('Dense and increasing from 1 within a session.'),
    at: text.describe('ISO 8601.'),
    sessionId: text,
    turnId: text.nullable(),
    event: uiEvent,
  })
  .meta({ id: 'Envelope' }) satisfies z.ZodType<Envelope>
