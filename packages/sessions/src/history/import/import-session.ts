import { randomUUID } from 'node:crypto'
import type { ImportedSession } from '@chirality/core'
import type { SessionStore } from '../../store/session-store.ts'
import type { StoredSession } from '../../store/stored-session.ts'
import { ImportError } from './import-error.ts'

/** Puts an agent's own conversation into the store. One that is there already is refused: it would be continued twice. */
export async function importNative(store: SessionStore, imported: ImportedSession): Promise<StoredSession> {
  const { claudeSessionId } = imported.session
  const known = claudeSessionId === null ? undefined : await findByNativeId(store, claudeSessionId)
  if (known === undefined) return store.import(imported)
  throw new ImportError(
    'already-imported',
    `The conversation ${claudeSessionId} is already here, as session ${known.id}.`,
    known.id,
  )
}

/**
 * Puts an export of ours into the store. Where the session itself is still there it becomes a fork of it: two sessions must
 * not go on with one conversation of the agent.
 */
export async function importExport(store: SessionStore, imported: ImportedSession): Promise<StoredSession> {
  const { session, envelopes } = imported
  const { claudeSessionId } = session
  const sameId = await store.get(session.id)
  const original = sameId ?? (claudeSessionId ? await findByNativeId(store, claudeSessionId) : undefined)
  if (original === undefined) return store.import(imported)
  const copy = { ...session, id: sameId ? randomUUID() : session.id, claudeSessionId: null }
  const { id } = await store.import({ session: copy, envelopes })
  const forkedFrom = { sessionId: original.id, seq: envelopes.length, claudeSessionId }
  return store.update(id, { forkedFrom })
}

/** The session that continues this conversation of an agent. */
export async function findByNativeId(
  store: SessionStore,
  nativeSessionId: string,
  projectRoot?: string,
): Promise<StoredSession | undefined> {
  const sessions = await store.list(projectRoot)
  return sessions.find(({ claudeSessionId }) => claudeSessionId === nativeSessionId)
}
