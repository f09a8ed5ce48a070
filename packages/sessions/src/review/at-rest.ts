import { FileMoves, forScope, type Settle, type WorkPlace, workspaceError } from '@chirality/workspaces'
import { startError } from '../session-errors.ts'
import type { LiveSession } from '../status/live-session.ts'
import { inWorkFolder, type ReviewHost, workFolderOf } from './review-host.ts'
import { settleBack } from './settle-back.ts'

/** A session whose files only this caller changes. */
export interface AtRest {
  session: LiveSession
  place: WorkPlace
  moves: FileMoves
}

/**
 * Works on the files of a session while no agent does. Refused if one is at work in the folder, or if the session is being
 * moved; a turn that begins there meanwhile waits until the work is over. `besides` are other folders that the work
 * changes.
 */
export async function atRest<T>(
  host: ReviewHost,
  session: LiveSession,
  work: (at: AtRest) => Promise<T>,
  besides: readonly string[] = [],
): Promise<T> {
  const { id, status } = session
  const { worktree } = status
  if (worktree?.folder === null)
    throw workspaceError('worktree-missing', `The worktree ${worktree.id} of this session is not known here.`)
  const folders = [workFolderOf(status), ...besides]
  const check = () => {
    host.moves.requireStaying(id)
    requireRest(host, folders)
  }
  const result = await host.changes.hold(folders, check, async () => {
    await host.movesRecovered(status.projectRoot)
    return inWorkFolder(host, session, async place => {
      const repository = forScope(place.repository, id)
      const settle: Settle = begun => settleBack({ host, place }, id, begun)
      const moves = new FileMoves(repository, id, settle)
      return { done: await work({ session, place: { ...place, repository }, moves }) }
    })
  })
  if (result !== undefined) return result.done
  throw workspaceError(
    'review-refused',
    'There is no git repository here. Run git init in the project first.',
  )
}

/** Throws `busy` while an agent works in one of the folders. */
export function requireRest(host: Pick<ReviewHost, 'statuses'>, folders: readonly string[]): void {
  const busy = host
    .statuses()
    .find(status => status.phase !== 'idle' && folders.includes(workFolderOf(status)))
  if (busy === undefined) return
  const who = busy.title === null ? 'An agent' : `The agent of "${busy.title}"`
  const where = workFolderOf(busy)
  throw startError('busy', `${who} is at work in ${where}. Wait for it, or stop it. Nothing was changed.`)
}
