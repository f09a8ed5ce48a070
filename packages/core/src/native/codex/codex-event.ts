import { asObject, asText, isObject, type JsonObject } from '../loose.ts'
import type { CodexExecEvent } from './exec-events.ts'
import { NOTIFICATION_METHODS } from './notification-methods.ts'
import type { CodexNotification } from './notifications.ts'

/** One line of Codex's output in either protocol: `exec --json` or `app-server`. */
export type CodexEvent = CodexExecEvent | CodexAppServerMessage | CodexUnknownEvent

/** An event of an unknown type, unchanged. */
export interface CodexUnknownEvent {
  type: 'unknown'
  /** `type` or `method`; `not-an-object` or `no-type` where there is no name. */
  nativeType: string
  raw: unknown
}

/**
 * Gives a parsed line its type. Never throws and never copies: a known event is the same object. Only `type`, or
 * `method` and `id`, are checked. A request of an unknown kind is still a request, because it has to be answered.
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

// A record, so that a type that is missing here does not compile.
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

/** JSON-RPC without the `jsonrpc` member, one message a line. */
export type CodexAppServerMessage = CodexNotification | CodexServerRequest | CodexResponse

export type CodexRequestId = string | number

/** The agent asks its host something and waits for a response with the same `id`. */
export interface CodexServerRequest {
  type?: undefined
  id: CodexRequestId
  method: CodexServerRequestMethod | (string & {})
  params?: unknown
  [key: string]: unknown
}

export type CodexServerRequestMethod =
  | 'item/commandExecution/requestApproval'
  | 'item/fileChange/requestApproval'
  | 'item/permissions/requestApproval'
  | 'item/tool/requestUserInput'
  | 'item/tool/call'
  | 'mcpServer/elicitation/request'
  | 'account/chatgptAuthTokens/refresh'
  | 'attestation/generate'
  | 'applyPatchApproval'
  | 'execCommandApproval'

/** The answer to a request of the host. It does not say which method it answers. */
export interface CodexResponse {
  type?: undefined
  method?: undefined
  id: CodexRequestId | null
  result?: unknown
  error?: { code?: number; message?: string; data?: unknown; [key: string]: unknown }
  [key: string]: unknown
}

/** The thread that an app-server message names. Versions up to 0.110 call it a conversation. */
export function codexThreadOf(raw: unknown): string | undefined {
  const { threadId, thread, conversationId } = asObject(asObject(raw)?.params) ?? {}
  return asText(threadId) ?? asText(asObject(thread)?.id) ?? asText(conversationId)
}

/**
 * Whether a message without a thread is for a session with these threads. A known kind concerns the process, and so all
 * its sessions. An unknown kind may concern any session, so it counts only if one of its fields is the id of one of the
 * threads.
 */
export function concernsThreads(raw: unknown, threadIds: readonly string[]): boolean {
  if (parseCodexEvent(raw).type !== 'unknown') return true
  return threadIds.some(id => holds(asObject(raw)?.params, id, MAX_DEPTH))
}

const MAX_DEPTH = 4

function holds(value: unknown, id: string, depth: number): boolean {
  if (value === id) return true
  if (depth === 0 || typeof value !== 'object' || value === null) return false
  const fields = isObject(value) ? Object.values(value) : (value as unknown[])
  return fields.some(field => holds(field, id, depth - 1))
}
