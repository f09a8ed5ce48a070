import { asObject, asText, isObject } from '../loose.ts'
import { parseCodexEvent } from './parse-codex-event.ts'

/** The thread that a message of an app-server names. Versions up to 0.110 call it a conversation. */
export function codexThreadOf(raw: unknown): string | undefined {
  const { threadId, thread, conversationId } = asObject(asObject(raw)?.params) ?? {}
  return asText(threadId) ?? asText(asObject(thread)?.id) ?? asText(conversationId)
}

/**
 * Whether a message that names no thread is for a session with these threads. One of a known kind is about the process,
 * and so about everybody in it. One of an unknown kind may be about any session: it is for this one only if some field
 * of it is the id of one of its threads.
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
