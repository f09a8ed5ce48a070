import type { FileOps } from '../files/file-ops.ts'
import { pagesAfter } from '../log/pages.ts'
import { readSessionLog } from '../log/read-log.ts'
import { SessionFold } from './fold-session.ts'
import { newSession, type StoredSession } from './stored-session.ts'
import type { IndexEntry } from './user-index.ts'

export interface RebuildOptions {
  id: string
  projectRoot: string
  /** What the user's index knows: persona, mode and a title that was given. */
  entry: IndexEntry | undefined
  ops: FileOps
}

/** A session from its log, when its own file is gone or spoilt; undefined when nothing of it is left. */
export async function rebuildSession({
  id,
  projectRoot,
  entry,
  ops,
}: RebuildOptions): Promise<StoredSession | undefined> {
  const log = await readSessionLog(projectRoot, id, ops)
  if (log === undefined) return entry && newSession({ ...entry, projectRoot })
  try {
    const createdAt = entry?.createdAt ?? log.readAfter(0, 1)[0]?.at ?? new Date().toISOString()
    const { persona = null, mode = 'direct', title = null, settings } = entry ?? {}
    const fold = new SessionFold(newSession({ id, projectRoot, persona, mode, createdAt, title, settings }))
    for await (const page of pagesAfter(log, 0)) fold.add(page)
    return fold.session
  } finally {
    log.close()
  }
}
