import { gitStatus } from '@chirality/workspaces'
import { CALLS } from '../contract/calls.ts'
import { findFiles } from '../files/find-files.ts'
import { listFolder } from '../files/list-folder.ts'
import { readProjectFile } from '../files/read-file.ts'
import { liveSession } from './live-session.ts'
import { call, router } from './trpc.ts'

const DEFAULT_FOUND = 20

export const filesRouter = router({
  /** One folder; `path` is from the root of the project, empty for the root itself. */
  tree: call(CALLS.files.tree).query(async ({ ctx, input }) =>
    listFolder(await ctx.projects.require(input.project), input.path),
  ),

  /** Files whose path contains the letters of `query`, best first: for completion of a typed name. */
  find: call(CALLS.files.find).query(async ({ ctx, input }) =>
    findFiles(await ctx.projects.require(input.project), input.query, input.limit ?? DEFAULT_FOUND),
  ),

  read: call(CALLS.files.read).query(async ({ ctx, input }) =>
    readProjectFile(await ctx.projects.require(input.project), input.path),
  ),

  /** Null if there is no git repository. */
  status: call(CALLS.files.status).query(async ({ ctx, input }) =>
    gitStatus(await ctx.projects.require(input.project)),
  ),

  /** All changes since the last commit, new files included. Null if there is no git repository. */
  diff: call(CALLS.files.diff).query(async ({ ctx, input }) =>
    ctx.changes.workingTree(await ctx.projects.require(input.project)),
  ),

  /** The changes of one turn. */
  turnDiff: call(CALLS.files.turnDiff).query(async ({ ctx, input }) =>
    ctx.changes.turn(await liveSession(ctx, input.sessionId), input.turnId),
  ),
})
