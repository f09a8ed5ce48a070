import { FileMoves, findRepository, type Settle, unfinishedMoves } from '@chirality/workspaces'
import { inWorkFolder, type ReviewHost } from './review-host.ts'
import { settleBack } from './settle-back.ts'

/** Finishes what a killed process left half done in the files of a project that this host owns. Never rejects. */
export async function recoverMoves(host: ReviewHost, projectRoot: string): Promise<void> {
  await finishMoves(host, projectRoot).catch((error: unknown) => host.logFault(error))
}

async function finishMoves(host: ReviewHost, projectRoot: string): Promise<void> {
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
        .then(session => inWorkFolder(host, session, place => settleBack({ host, place }, sessionId, begun)))
        .catch((error: unknown) => host.logFault(error))
    await new FileMoves(found, sessionId, settle).recover()
  }
  // One that cannot be finished must not keep the others half done.
  for (const sessionId of await unfinishedMoves(repository))
    await finish(sessionId).catch((error: unknown) => host.logFault(error))
}
