import { inBlamePlace, type ProjectPlace, requireBranches, turnDiff, workFolderOf } from '@chirality/sessions'
import {
  type BlamePlace,
  blameProjectFile,
  commitAtBase,
  type GitRepository,
  gitStatus,
  type PastState,
  stateOfCommit,
} from '@chirality/workspaces'
import { CALLS } from '../contract/calls.ts'
import type { Blame } from '../contract/file-answers.ts'
import { callError } from '../errors/call-error.ts'
import { findFiles } from '../files/find-files.ts'
import { listFolder } from '../files/list-folder.ts'
import { readProjectFile } from '../files/read-file.ts'
import type { AppServices } from './context.ts'
import { liveSession } from './live-session.ts'
import { call, router } from './trpc.ts'

const DEFAULT_FOUND = 20

/** The project's folder, or the worktree of the session that is named. */
async function placeOf(
  ctx: AppServices,
  { project, sessionId }: { project: string; sessionId?: string | undefined },
): Promise<ProjectPlace> {
  const root = await ctx.projects.require(project)
  if (sessionId === undefined) return { root, folder: root, worktree: null }
  const { status } = await liveSession(ctx, sessionId)
  if (status.projectRoot !== root)
    throw callError('not-found', `The session ${sessionId} is not of the project ${root}.`)
  if (status.worktree) await ctx.host.worktrees.require(status.worktree.id)
  return { root, folder: workFolderOf(status), worktree: status.worktree?.id ?? null }
}

export interface BlameInput {
  project: string
  sessionId?: string | undefined
  path: string
  line?: number | undefined
  /** One side of the changes of the session: in a turn, since its base, or since the last commit. */
  of?: { turnId?: string | undefined; since?: 'base' | undefined; side: 'old' | 'new' } | undefined
}

/** Null if there is no git repository. */
export async function blame(services: AppServices, input: BlameInput): Promise<Blame | null> {
  const blamed = await inBlamePlace(services.host, await placeOf(services, input), async place => {
    const at = await pastState(services, place, input)
    return blameProjectFile(place, { ...input, at })
  })
  return blamed ?? null
}

/** Undefined for the files as they are now. */
async function pastState(
  services: AppServices,
  { root, repository, trees }: Pick<BlamePlace, 'root' | 'repository' | 'trees'>,
  { sessionId, of }: BlameInput,
): Promise<PastState | undefined> {
  if (of === undefined) return undefined
  const { turnId, since, side } = of
  if (turnId === undefined && side === 'new') return undefined
  if (turnId === undefined && since === undefined) return requireState(repository, 'HEAD')
  if (sessionId === undefined)
    throw callError('invalid-input', 'A turn or a base is of a session: give its sessionId.')
  if (turnId === undefined) {
    const branches = await requireBranches(services.host, await liveSession(services, sessionId))
    return requireState(repository, await commitAtBase(repository, branches))
  }
  const recorded = await trees.read(root, sessionId, turnId)
  if (recorded === undefined)
    throw callError('turn-missing', `The files of turn ${turnId} of session ${sessionId} are not kept.`)
  const { before, after, beforeAt, afterAt } = recorded
  if (side === 'new' && after === undefined) return undefined
  const time = side === 'old' ? beforeAt : afterAt
  if (time === undefined)
    throw callError(
      'blame-refused',
      `When turn ${turnId} ran was not recorded, so who wrote it is not known.`,
    )
  return { tree: side === 'old' ? before : (after ?? before), time }
}

async function requireState(repository: GitRepository, commit: string): Promise<PastState> {
  const state = await stateOfCommit(repository, commit)
  if (state === undefined)
    throw callError('not-found', 'There is no commit yet, so there are no older files.')
  return state
}

export const filesRouter = router({
  /** One folder; `path` is from the root of the project, empty for the root itself. */
  tree: call(CALLS.files.tree).query(async ({ ctx, input }) =>
    listFolder((await placeOf(ctx, input)).folder, input.path),
  ),

  /** Files whose path contains the letters of `query`, best first: for completion of a typed name. */
  find: call(CALLS.files.find).query(async ({ ctx, input }) =>
    findFiles((await placeOf(ctx, input)).folder, input.query, input.limit ?? DEFAULT_FOUND),
  ),

  read: call(CALLS.files.read).query(async ({ ctx, input }) =>
    readProjectFile((await placeOf(ctx, input)).folder, input.path),
  ),

  /** Null if there is no git repository. */
  status: call(CALLS.files.status).query(async ({ ctx, input }) =>
    gitStatus((await placeOf(ctx, input)).folder),
  ),

  /** All changes since the last commit, new files included. Null if there is no git repository. */
  diff: call(CALLS.files.diff).query(async ({ ctx, input }) => {
    const { root, folder } = await placeOf(ctx, input)
    return ctx.host.changes.workingTree(root, folder)
  }),

  /** The changes of one turn. */
  turnDiff: call(CALLS.files.turnDiff).query(async ({ ctx, input }) =>
    turnDiff(ctx.host, await liveSession(ctx, input.sessionId), input.turnId),
  ),

  /** Which turn wrote each line, for which prompt and money. Null if there is no git repository. */
  blame: call(CALLS.files.blame).query(({ ctx, input }) => blame(ctx, input)),
})
