import { randomUUID } from 'node:crypto'
import { CodedError, type Envelope, type HarnessId, type ImportedSession } from '@chirality/core'
import { conversationKeeper } from '@chirality/runner'
import { isEnvelope } from '../../log/envelope-line.ts'
import type { SessionStore } from '../../store/session-store.ts'
import { parseObject, parseSession, type StoredSession } from '../../store/stored-session.ts'

/** Imports an agent's own conversation. Refuses one that a session already continues, because two would continue it. */
export async function importNative(store: SessionStore, imported: ImportedSession): Promise<StoredSession> {
  const conversation = conversationOf(imported)
  if (conversation !== undefined) await refuseKnown(store, conversation)
  return store.import(imported)
}

/** Throws an ImportError if a session already continues the conversation. */
export async function refuseKnown(store: SessionStore, conversation: NativeConversation): Promise<void> {
  const known = await findByNativeId(store, conversation)
  if (known === undefined) return
  throw new ImportError(
    'import-already-imported',
    `The conversation ${conversation.nativeSessionId} is already here, as session ${known.id}.`,
    known.id,
  )
}

/**
 * Imports our own export. If the session still exists, the import becomes a fork: two sessions must not continue one
 * conversation of the agent.
 */
export async function importExport(store: SessionStore, imported: ImportedSession): Promise<StoredSession> {
  const { session, envelopes } = imported
  const { claudeSessionId } = session
  const sameId = await store.get(session.id)
  const conversation = conversationOf(imported)
  const original = sameId ?? (conversation && (await findByNativeId(store, conversation)))
  if (original === undefined) return store.import(imported)
  const copy = { ...session, id: sameId ? randomUUID() : session.id, claudeSessionId: null }
  const { id } = await store.import({ session: copy, envelopes })
  const forkedFrom = { sessionId: original.id, seq: envelopes.length, claudeSessionId }
  return store.update(id, { forkedFrom })
}

/** A conversation of an agent. Its id alone may name several: some agents count, and others use names. */
export interface NativeConversation {
  nativeSessionId: string
  /** Null if nobody knows whose it is. */
  harness: HarnessId | null
  projectRoot: string
}

/** The session that continues this conversation of an agent. */
export async function findByNativeId(
  store: SessionStore,
  { nativeSessionId, harness, projectRoot }: NativeConversation,
): Promise<StoredSession | undefined> {
  // A UUID is unique everywhere, also where a session works in a worktree of its project.
  const sessions = await store.list(UUID.test(nativeSessionId) ? undefined : projectRoot)
  return sessions.find(
    session => session.claudeSessionId === nativeSessionId && haveOneKeeper(session.harness, harness),
  )
}

function haveOneKeeper(one: HarnessId | null, other: HarnessId | null): boolean {
  return one === null || other === null || conversationKeeper(one) === conversationKeeper(other)
}

function conversationOf({ session, envelopes }: ImportedSession): NativeConversation | undefined {
  const { claudeSessionId: nativeSessionId, projectRoot } = session
  if (!nativeSessionId) return undefined
  const init = envelopes.findLast(({ event }) => event.type === 'session:init')?.event
  const harness = init?.type === 'session:init' ? (init.harness ?? null) : null
  return { nativeSessionId, harness, projectRoot }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export type ImportErrorCode = 'import-not-an-export' | 'import-already-imported'

export class ImportError extends CodedError<ImportErrorCode> {
  /** The session that already continues it. */
  readonly sessionId: string | undefined

  constructor(code: ImportErrorCode, message: string, sessionId?: string) {
    super(code, message)
    this.name = 'ImportError'
    this.sessionId = sessionId
  }
}

/** The session in a JSON export. The file is untrusted, so everything in it is validated. */
export function parseExport(text: string, projectRoot: string): ImportedSession {
  const { session, envelopes } = parseObject(text.replace(/^\ufeff/, '')) ?? {}
  const id = fieldOf(session, 'id')
  const parsed =
    typeof id === 'string' ? parseSession(JSON.stringify(session), { id, projectRoot }) : undefined
  if (parsed === undefined || !Array.isArray(envelopes)) {
    throw new ImportError(
      'import-not-an-export',
      'This file is not an export of a session. Make one with: chirality sessions export ID --format json',
    )
  }
  return { session: parsed, envelopes: envelopes.map(checkedEnvelope) }
}

function checkedEnvelope(value: unknown, index: number): Envelope {
  const at = fieldOf(value, 'at')
  const time = new Date(typeof at === 'string' ? at : Number.NaN)
  if (!isEnvelope(value) || Number.isNaN(time.getTime())) {
    throw new ImportError(
      'import-not-an-export',
      `Event ${index + 1} of this export is not a valid event. Export the session again.`,
    )
  }
  // Times are written to the log unchanged, so this one is converted to our format.
  return { ...value, at: time.toISOString() }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
