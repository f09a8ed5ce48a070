import type { FileOps } from '@chirality/disk'
import { StorageError } from '@chirality/disk'
import { findProjectFolder } from './project-folder.ts'

const SESSION_ID = /^[A-Za-z0-9_-]{1,64}$/

/** The id becomes a file name, so it must not contain path characters. */
export function isSessionId(id: unknown): id is string {
  return typeof id === 'string' && SESSION_ID.test(id)
}

export function requireSessionId(id: string): string {
  if (isSessionId(id)) return id
  const shown = JSON.stringify(String(id).slice(0, 80))
  throw new StorageError(
    'invalid-id',
    '',
    `${shown} is not a session id: letters, digits, - and _, at most 64.`,
  )
}

/** The ids of the sessions with a `<id>.json` in a folder of a project. */
export async function sessionsWithFiles(
  projectRoot: string,
  folder: readonly string[],
  ops: FileOps,
): Promise<string[]> {
  const path = await findProjectFolder(projectRoot, ...folder)
  if (path === undefined) return []
  return ops.readdir(path).flatMap(name => {
    const id = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : ''
    return isSessionId(id) ? [id] : []
  })
}

const ENDING = '.json'
