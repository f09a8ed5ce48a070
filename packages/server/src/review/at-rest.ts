import type { LiveSession, SessionHost } from '@chirality/sessions'
import { FileMoves, findRepository, forScope, type Settle, unfinishedMoves } from '@chirality/workspaces'
import { type TurnChanges, type WorkPlace, workFolderOf } from '../changes/turn-changes.ts'
import { callError } from '../errors/call-error.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession } from '../trpc/live-session.ts'
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
  services: AppServices,
  sessionId: string,
  work: (at: AtRest) => Promise<T>,
  besides: (session: LiveSession) => string[] = () => [],
): Promise<T> {
  const session = await liveSession(services, sessionId)
  const { worktree } = session.status
  if (worktree?.folder === null)
    throw callError('worktree-missing', `The worktree ${worktree.id} of this session is not known here.`)
  const { changes, host } = services
  const folders = [workFolderOf(session.status), ...besides(session)]
  const result = await changes.hold(
    folders,
    () => {
      host.moves.requireStaying(sessionId)
      requireRest(services, folders)
    },
    async () => {
      await recoverMoves(services, session.status.projectRoot)
      return changes.inWorkFolder(session, async place => {
        const repository = forScope(place.repository, sessionId)
        const settle: Settle = begun => settleBack({ host, place }, sessionId, begun)
        const moves = new FileMoves(repository, sessionId, settle)
        return { done: await work({ session, place: { ...place, repository }, moves }) }
      })
    },
  )
  if (result !== undefined) return result.done
  throw callError('review-refused', 'There is no git repository here. Run git init in the project first.')
}

export function requireRest({ host }: Pick<AppServices, 'host'>, folders: readonly string[]): void {
  const busy = host
    .statuses()
    .find(status => status.phase !== 'idle' && folders.includes(workFolderOf(status)))
  if (busy === undefined) return
  const who = busy.title === null ? 'An agent' : `The agent of "${busy.title}"`
  const where = workFolderOf(busy)
  throw callError('busy', `${who} is at work in ${where}. Wait for it, or stop it. Nothing was changed.`)
}

/**
 * Finishes what a killed server left half done in the folders of a project that this one owns: once, before the first
 * review or turn. Never rejects, and is not tried again: a later try could meet a move that is being made.
 */
export function recoverMoves(services: Recovering, projectRoot: string): Promise<void> {
  const { host } = services
  const recovered = RECOVERED.get(host) ?? new Map<string, Promise<void>>()
  RECOVERED.set(host, recovered)
  const known =
    recovered.get(projectRoot) ??
    finishMoves(services, projectRoot).catch((error: unknown) => host.logFault(error))
  recovered.set(projectRoot, known)
  return known
}

const RECOVERED = new WeakMap<SessionHost, Map<string, Promise<void>>>()

interface Recovering {
  host: SessionHost
  changes: Pick<TurnChanges, 'inWorkFolder'>
}

async function finishMoves({ host, changes }: Recovering, projectRoot: string): Promise<void> {
  const repository = await findRepository(projectRoot)
  if (repository === undefined) return
  const finish = async (sessionId: string) => {
    const stored = await host.store.get(sessionId).catch(() => undefined)
    if (stored?.projectRoot !== projectRoot) return
    const worktree = stored.worktree === null ? undefined : await host.worktrees.find(stored.worktree)
    const found = stored.worktree === null ? repository : worktree && (await findRepository(worktree.folder))
    if (found === undefined) return
    // The files are finished in any case. Without the conversation, the move is listed and can be undone.
    const settle: Settle = begun =>
      host
        .session(sessionId)
        .then(session =>
          changes.inWorkFolder(session, place => settleBack({ host, place }, sessionId, begun)),
        )
        .catch((error: unknown) => host.logFault(error))
    await new FileMoves(found, sessionId, settle).recover()
  }
  // One that cannot be finished must not keep the others half done.
  for (const sessionId of await unfinishedMoves(repository))
    await finish(sessionId).catch((error: unknown) => host.logFault(error))
}
