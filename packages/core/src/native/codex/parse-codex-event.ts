import { isObject, type JsonObject } from '../loose.ts'
import type { CodexEvent, CodexUnknownEvent } from './codex-event.ts'
import type { CodexExecEvent } from './exec-events.ts'
import { NOTIFICATION_METHODS } from './notification-methods.ts'

/**
 * Gives a parsed line its type. Never throws and never copies: a known event is the very object that came in. Only
 * `type`, or `method` and `id`, are looked at. A request of a kind that is not known is still one: it has to be answered.
 */
export function parseCodexEvent(json: unknown): CodexEvent {
  if (!isObject(json)) return unknownEvent('not-an-object', json)
  const { type, method } = json
  if (type === undefined && typeof method === 'string') return parseCall(json, method)
  if (typeof type === 'string') {
    return EXEC_TYPES.has(type) ? (json as unknown as CodexEvent) : unknownEvent(type, json)
  }
  return isResponse(json) ? (json as unknown as CodexEvent) : unknownEvent('no-type', json)
}

function parseCall(json: JsonObject, method: string): CodexEvent {
  const { id } = json
  const known = id === undefined ? NOTIFICATION_METHODS.has(method) : isId(id)
  return known ? (json as unknown as CodexEvent) : unknownEvent(method, json)
}

function isResponse(json: JsonObject): boolean {
  if (json.type !== undefined || json.method !== undefined) return false
  return (isId(json.id) || json.id === null) && ('result' in json || 'error' in json)
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || typeof id === 'number'
}

function unknownEvent(nativeType: string, raw: unknown): CodexUnknownEvent {
  return { type: 'unknown', nativeType, raw }
}

// As a record, so that a type that is added to the union and forgotten here does not compile.
const EXEC_TYPES: ReadonlySet<string> = new Set(
  Object.keys({
    error: true,
    'item.completed': true,
    'item.started': true,
    'item.updated': true,
    'thread.started': true,
    'turn.completed': true,
    'turn.failed': true,
    'turn.started': true,
  } satisfies Record<CodexExecEvent['type'], true>),
)
