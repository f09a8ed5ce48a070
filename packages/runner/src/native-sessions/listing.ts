import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { HarnessError, type HarnessId } from '@chirality/core'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isNativeId(text: string): boolean {
  return UUID.test(text)
}

/** The id becomes part of a path, so only a conversation id is accepted. */
export function requireNativeId(given: string, harnessId: HarnessId): string {
  if (isNativeId(given)) return given.toLowerCase()
  const message = `"${given}" is not the id of a conversation (a UUID).`
  throw new HarnessError(message, 'invalid_query', harnessId)
}

export function sessionNotFound(nativeSessionId: string, harnessId: HarnessId): HarnessError {
  const message = `${harnessId} has no conversation ${nativeSessionId}.`
  return new HarnessError(message, 'session_not_found', harnessId)
}

export const DEFAULT_LIMIT = 100

const MAX_CHARS = 200
/** Control characters, and the marks that change the writing direction. */
const HARMFUL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** A title from a message of any length. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').replace(HARMFUL, '').trim()
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line
}

/** The paths of a folder in an agent's files: as given, and resolved. */
export async function sameFolder(folder: string): Promise<string[]> {
  const given = path.resolve(folder)
  return [...new Set([given, await realPathOf(given)])]
}

export async function realPathOf(folder: string): Promise<string> {
  return realpath(folder).catch(() => path.resolve(folder))
}
