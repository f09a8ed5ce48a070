import {
  turnDiff as diffOfTurn,
  inBlamePlace,
  type ProjectPlace,
  requireBranches,
  workFolderOf,
} from '@chirality/sessions'
import {
  type BlamePlace,
  blameProjectFile,
  commitAtBase,
  type GitRepository,
  type PastState,
  stateOfCommit,
  gitStatus as statusOf,
} from '@chirality/workspaces'
import { z } from 'zod'
import { query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { callError } from '../errors.ts'
import { findFiles } from '../files/find-files.ts'
import { listFolder } from '../files/list-folder.ts'
import { readProjectFile } from '../files/read-file.ts'
import { liveSession } from '../sessions/live-session.ts'
import { blame, changes, fileContent, folderListing, gitStatus, turnDiff } from '../shapes/files.ts'
import { lineNumber, project, relativePath, sessionId, sideOfChanges } from '../shapes/values.ts'

/** The project's folder, or the worktree that a session of it works in. */
const byPlace = z.strictObject({ project, sessionId: sessionId.optional() })
const byPath = byPlace.extend({ path: relativePath })
const blameInput = byPath.extend({ line: lineNumber.optional(), of: sideOfChanges.optional() })

export const fileCalls = {
  tree: query({
    about: 'Lists one folder. The path is from the root of the project, and empty for the root itself.',
    input: byPath,
    output: folderListing,
    where: 'owner',
    run: async (centre, input) => listFolder((await placeOf(centre, input)).folder, input.path),
  }),

  find: query({
    about: 'Lists files whose path contains the letters of `query`, best first, to complete a typed name.',
    input: byPlace.extend({
      query: z.string().min(1).max(200),
      limit: z.int().positive().max(100).optional(),
    }),
    output: z.array(z.string()),
    where: 'owner',
    run: async (centre, input) =>
      findFiles((await placeOf(centre, input)).folder, input.query, input.limit ?? DEFAULT_FOUND),
  }),

  read: query({
    about: 'Reads a file of a project.',
    input: byPath,
    output: fileContent,
    where: 'owner',
    run: async (centre, input) => readProjectFile((await placeOf(centre, input)).folder, input.path),
  }),

  status: query({
    about: 'Tells what git says of the files. Null if there is no git repository.',
    input: byPlace,
    output: gitStatus.nullable(),
    where: 'owner',
    run: async (centre, input) => statusOf((await placeOf(centre, input)).folder),
  }),

  diff: query({
    about: 'Gives all changes since the last commit, new files included. Null if there is no git repository.',
    input: byPlace,
    output: changes.nullable(),
    where: 'owner',
    run: async (centre, input) => {
      const { root, folder } = await placeOf(centre, input)
      return centre.host.changes.workingTree(root, folder)
    },
  }),

  turnDiff: query({
    about: 'Gives the changes of one turn.',
    input: z.strictObject({ sessionId, turnId: z.string().min(1).max(64) }),
    output: turnDiff,
    where: 'owner',
    run: async (centre, input) =>
      diffOfTurn(centre.host, await liveSession(centre, input.sessionId), input.turnId),
  }),

  blame: query({
    about:
      'Tells which turn wrote each line of a file, for which prompt and money. Null if there is no git repository.',
    input: blameInput,
    output: blame.nullable(),
    where: 'owner',
    run: async (centre, input) => {
      const blamed = await inBlamePlace(centre.host, await placeOf(centre, input), async place => {
        const at = await pastState(centre, place, input)
        return blameProjectFile(place, { ...input, at })
      })
      return blamed ?? null
    },
  }),
}

const DEFAULT_FOUND = 20

/** The project's folder, or the worktree of the session that is named. */
async function placeOf(
  centre: Centre,
  { project, sessionId }: { project: string; sessionId?: string | undefined },
): Promise<ProjectPlace> {
  const root = await centre.projects.require(project)
  if (sessionId === undefined) return { root, folder: root, worktree: null }
  const { status } = await liveSession(centre, sessionId)
  if (status.projectRoot !== root)
    throw callError('not-found', `The session ${sessionId} is not of the project ${root}.`)
  if (status.worktree) await centre.host.worktrees.require(status.worktree.id)
  return { root, folder: workFolderOf(status), worktree: status.worktree?.id ?? null }
}

/** Undefined for the files as they are now. */
async function pastState(
  centre: Centre,
  { root, repository, trees }: Pick<BlamePlace, 'root' | 'repository' | 'trees'>,
  { sessionId, of }: z.infer<typeof blameInput>,
): Promise<PastState | undefined> {
  if (of === undefined) return undefined
  const { turnId, since, side } = of
  if (turnId === undefined && side === 'new') return undefined
  if (turnId === undefined && since === undefined) return requireState(repository, 'HEAD')
  if (sessionId === undefined)
    throw callError('invalid-input', 'A turn or a base is of a session: give its sessionId.')
  if (turnId === undefined) {
    const branches = await requireBranches(centre.host, await liveSession(centre, sessionId))
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
