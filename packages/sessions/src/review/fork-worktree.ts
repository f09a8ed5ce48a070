import {
  FileMoves,
  findRepository,
  type GitRepository,
  git,
  goBack,
  headTree,
  type WorkPlace,
  workspaceError,
} from '@chirality/workspaces'
import type { LiveSession } from '../status/live-session.ts'
import type { ForkOptions } from '../store/session-store.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { atRest } from './at-rest.ts'
import type { ReviewHost } from './review-host.ts'

/** A fork of a session in a worktree: it gets one of its own, with the files as they were at this point. */
export async function forkInWorktree(
  host: ReviewHost,
  source: LiveSession,
  { atSeq, title }: Pick<ForkOptions, 'atSeq' | 'title'>,
): Promise<StoredSession> {
  return atRest(host, source, async ({ session, place }) => {
    const { baseBranch } = await host.worktrees.get(session.stored.worktree ?? '')
    const { tree, commit, turns } = await filesAt(session, place, atSeq)
    const { worktree } = await host.worktrees.make({
      projectRoot: session.status.projectRoot,
      base: commit,
      baseBranch,
      title: title ?? `${session.stored.title ?? 'work'} fork`,
    })
    let made: string | undefined
    try {
      const repository = await findRepository(worktree.folder)
      if (repository === undefined) throw workspaceError('worktree-missing', 'The new worktree is gone.')
      const options = { ...(atSeq === undefined ? {} : { atSeq }), ...(title === undefined ? {} : { title }) }
      const fork = await host.forkSession(session.id, { ...options, worktree: worktree.id })
      made = fork.id
      await goBack(repository, new FileMoves(repository, fork.id), {
        turns: [{ before: tree, after: await headTree(repository) }],
        stateFolder: place.stateFolder,
        overwrite: [],
        cause: { kind: 'fork' },
        what: 'Began with the files of the fork',
      })
      await place.adoptTurns(fork.id, turns)
      return fork
    } catch (error) {
      // A session whose files could not be made would stay in the list, without a folder to work in.
      if (made !== undefined) await host.deleteSession(made).catch((failed: unknown) => host.logFault(failed))
      await host.worktrees.remove(worktree.id).catch(() => {})
      throw error
    }
  })
}

interface FilesAt {
  tree: string
  /** The last commit of that time. */
  commit: string
  /** The trees of the turns before. */
  turns: WorkPlace['turns']
}

async function filesAt(session: LiveSession, place: WorkPlace, atSeq: number | undefined): Promise<FilesAt> {
  const { repository, turns } = place
  const next = atSeq === undefined ? undefined : turnAfter(session, atSeq)
  if (next === undefined) return { tree: await place.snapshot(), commit: await commitAt(repository), turns }
  const all = [...turns]
  const index = all.findIndex(([id]) => id === next.turnId)
  const trees = all[index]?.[1]
  if (trees === undefined)
    throw workspaceError(
      'turn-missing',
      'The files at this point are not kept, so it cannot be forked from there.',
    )
  return {
    tree: trees.before,
    commit: await commitAt(repository, next.at),
    turns: new Map(all.slice(0, index)),
  }
}

/** The first turn that begins after this event. */
function turnAfter({ log }: LiveSession, seq: number): { turnId: string; at: string } | undefined {
  for (let cursor = seq; ; ) {
    const page = log.readAfter(cursor, PAGE)
    const found = page.find(({ event }) => event.type === 'turn:start')
    if (found?.turnId) return { turnId: found.turnId, at: found.at }
    const last = page.at(-1)
    if (last === undefined) return undefined
    cursor = last.seq
  }
}

async function commitAt(repository: GitRepository, at?: string): Promise<string> {
  const until = at === undefined ? [] : [`--before=${at}`]
  const found = await git(repository, ['rev-list', '-1', ...until, 'HEAD'])
  return found.toString('utf8').trim() || (await commitAt(repository))
}

const PAGE = 500
