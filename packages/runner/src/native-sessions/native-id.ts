import { HarnessError, type HarnessId } from '@chirality/core'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isNativeId(text: string): boolean {
  return UUID.test(text)
}

/** Becomes part of a path: nothing but the id of a conversation may. */
export function requireNativeId(given: string, harnessId: HarnessId): string {
  if (isNativeId(given)) return given.toLowerCase()
  const message = `"${given}" is not the id of a conversation (a UUID).`
  throw new HarnessError(message, 'invalid_query', harnessId)
}

export function sessionNotFound(nativeSessionId: string, harnessId: HarnessId): HarnessError {
  const message = `${harnessId} has no conversation ${nativeSessionId}.`
  return new HarnessError(message, 'session_not_found', harnessId)
}
