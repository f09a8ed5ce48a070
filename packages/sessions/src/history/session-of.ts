import { type FileOps, realFileOps } from '../files/file-ops.ts'
import { realProjectRoot } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { StorageError } from '../files/storage-error.ts'
import { ProjectSessions } from '../store/project-sessions.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { userDataFolder } from '../store/user-data-folder.ts'
import { UserIndex } from '../store/user-index.ts'

/** A session of this very project, also when a copy of the project has one of the same id. */
export async function sessionOf(
  projectRoot: string,
  sessionId: string,
  { home = userDataFolder(), ops = realFileOps }: { home?: string; ops?: FileOps } = {},
): Promise<StoredSession> {
  const root = realProjectRoot(projectRoot)
  const project = new ProjectSessions(root, new UserIndex(home, ops), ops)
  const session = await project.get(requireSessionId(sessionId))
  if (session !== undefined) return session
  throw new StorageError('not-found', root, `There is no session ${sessionId} in ${root}.`)
}
