import { join } from 'node:path'
import { type FileOps, realFileOps, removeIfThere, toStorageError } from '@chirality/disk'
import { findProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { EVENTS_FOLDER, SessionLog, type SessionLogOptions } from './session-log.ts'

interface OpenLog {
  log: Promise<SessionLog>
  users: number
  closing?: Promise<void>
}

const openLogs = new Map<string, OpenLog>()

/**
 * The log of a session: `.chirality/events/<id>.ndjson`, created if it is missing, repaired if it is damaged. Opening
 * it again in this process returns the same object; each call needs its own `close()`. Between processes the project's
 * lock decides.
 */
export async function openSessionLog(
  projectRoot: string,
  sessionId: string,
  options: SessionLogOptions = {},
): Promise<SessionLog> {
  const key = keyOf(projectRoot, sessionId)
  for (let entry = openLogs.get(key); entry !== undefined; entry = openLogs.get(key)) {
    if (entry.closing === undefined) {
      entry.users += 1
      return entry.log
    }
    await entry.closing.catch(() => {})
  }
  const entry: OpenLog = { log: SessionLog.open(projectRoot, sessionId, options), users: 1 }
  openLogs.set(key, entry)
  try {
    const log = await entry.log
    log.onClose(() => release(key, entry, log))
    return log
  } catch (error) {
    openLogs.delete(key)
    throw error
  }
}

/** Deletes a log and its side files. Its readers end, and its writer reports that it is closed. */
export async function removeSessionLog(
  projectRoot: string,
  sessionId: string,
  ops: FileOps = realFileOps,
): Promise<void> {
  const key = keyOf(projectRoot, sessionId)
  const entry = openLogs.get(key)
  if (entry !== undefined) {
    entry.closing ??= entry.log.then(log => log.abandon()).finally(() => openLogs.delete(key))
    await entry.closing.catch(() => {})
  }
  const folder = await findProjectFolder(projectRoot, EVENTS_FOLDER)
  if (folder === undefined) return
  try {
    for (const name of ops.readdir(folder)) {
      if (name.startsWith(`${sessionId}.`)) removeIfThere(ops, join(folder, name))
    }
  } catch (error) {
    throw toStorageError(error, folder)
  }
}

function release(key: string, entry: OpenLog, log: SessionLog): Promise<void> {
  entry.users -= 1
  if (entry.users > 0) return Promise.resolve()
  entry.closing ??= log.shutDown().finally(() => openLogs.delete(key))
  return entry.closing
}

function keyOf(projectRoot: string, sessionId: string): string {
  return join(realProjectRoot(projectRoot), EVENTS_FOLDER, requireSessionId(sessionId))
}
