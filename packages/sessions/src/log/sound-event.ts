import type { NativeUnknownEvent, UIEvent, UIEventType } from '@chirality/core'

/**
 * The event of a line, or in its place one that shows that it is damaged. A log is a file that others can write, and everything
 * that reads it relies on the fields of an event: one that is missing, or of another type, would close the session for ever.
 */
export function soundEvent(event: UIEvent, sessionId: string): UIEvent {
  const fields = Object.hasOwn(FIELDS, event.type) ? FIELDS[event.type] : undefined
  // A type of a later version: readers pass over it.
  if (fields === undefined) return event
  const values = event as unknown as Record<string, unknown>
  for (const [name, isSound] of fields) if (!isSound(values[name])) return damaged(values, sessionId)
  return event
}

function damaged(raw: Record<string, unknown>, sessionId: string): NativeUnknownEvent {
  return { type: 'native:unknown', sessionId, harness: 'log', nativeType: `damaged ${String(raw.type)}`, raw }
}

type Check = (value: unknown) => boolean
const text: Check = value => typeof value === 'string'
const number: Check = value => typeof value === 'number'
const boolean: Check = value => typeof value === 'boolean'
const object: Check = value => typeof value === 'object' && value !== null && !Array.isArray(value)
const list: Check = Array.isArray
const texts: Check = value => Array.isArray(value) && value.every(text)
const orMissing =
  (check: Check): Check =>
  value =>
    value === undefined || check(value)
const orNull =
  (check: Check): Check =>
  value =>
    value === null || check(value)
const usage: Check = value => {
  if (!object(value)) return false
  const counts = value as Record<string, unknown>
  return (
    number(counts.input_tokens) &&
    number(counts.output_tokens) &&
    orMissing(number)(counts.cache_read_input_tokens) &&
    orMissing(number)(counts.cache_creation_input_tokens)
  )
}

const NESTED = { parentToolUseId: orMissing(text) }

const CHECKS: Record<UIEventType, Record<string, Check>> = {
  'chat:delta': { text, messageId: orMissing(text), ...NESTED },
  'chat:complete': { text },
  'tool:start': { toolUseId: text, name: text, input: object, ...NESTED },
  'tool:result': { toolUseId: text, content: text, isError: boolean, ...NESTED },
  'session:init': {
    claudeSessionId: orNull(text),
    model: text,
    tools: texts,
    mcpServers: orMissing(list),
    slashCommands: orMissing(texts),
    ...{ harness: orMissing(text), version: orMissing(text), cwd: orMissing(text) },
    permissionMode: orMissing(text),
  },
  'session:complete': { costUsd: orMissing(number), usage, durationMs: orMissing(number) },
  'session:error': { error: text, code: text, costUsd: orMissing(number), usage: orMissing(usage) },
  'process:exit': { code: orNull(number), signal: orNull(text), leftRunning: orMissing(number) },
  'turn:start': { message: text, attachments: orMissing(number) },
  'turn:end': { reason: text, durationMs: orMissing(number) },
  'chat:thinking': { text, messageId: text, ...NESTED },
  'chat:message': { text, messageId: text, model: orMissing(text), ...NESTED },
  'tool:input': { toolUseId: text, delta: orMissing(text), input: orMissing(object), ...NESTED },
  'permission:request': {
    ...{ requestId: text, kind: text, toolName: text, input: object },
    ...{ toolUseId: orMissing(text), reason: orMissing(text), suggestions: orMissing(list) },
    always: orMissing(object),
    ...NESTED,
  },
  'permission:resolved': {
    ...{ requestId: text, outcome: text, by: text, rule: orMissing(text), message: orMissing(text) },
  },
  status: {
    ...{ status: text, message: text, level: text, toolUseId: orMissing(text), data: orMissing(object) },
    ...NESTED,
  },
  usage: { usage, model: orMissing(text), ...NESTED },
  budget: {
    ...{ scope: text, exceeded: boolean, spentUsd: orMissing(number), limitUsd: orMissing(number) },
    ...{ spentTokens: orMissing(number), limitTokens: orMissing(number) },
    ...{ spentMs: orMissing(number), limitMs: orMissing(number) },
  },
  'native:unknown': { harness: text, nativeType: text },
  'log:gap': { afterSeq: number, missing: number, reason: text },
}

const FIELDS: Readonly<Record<string, [string, Check][]>> = Object.fromEntries(
  Object.entries(CHECKS).map(([type, checks]) => [type, Object.entries(checks)]),
)
