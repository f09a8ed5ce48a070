import { z } from 'zod'
import type { TurnDiff } from '../changes/turn-changes.ts'
import { findFiles } from '../files/find-files.ts'
import { type FolderListing, listFolder } from '../files/list-folder.ts'
import { type FileContent, readProjectFile } from '../files/read-file.ts'
import type { Changes } from '../git/diff-trees.ts'
import { type GitStatus, gitStatus } from '../git/git-status.ts'
import { byProject, project, relativePath, sessionId } from './inputs.ts'
import { liveSession } from './live-session.ts'
import { procedure, router } from './trpc.ts'

const DEFAULT_FOUND = 20

const byPath = z.strictObject({ project, path: relativePath })

export const filesRouter = router({
  /** One folder; `path` is from the root of the project, empty for the root itself. */
  tree: procedure
    .input(byPath)
    .query(
      async ({ ctx, input }): Promise<FolderListing> =>
        listFolder(await ctx.projects.require(input.project), input.path),
    ),

  /** Files whose path has the letters of `query`, best first: for who types a name. */
  find: procedure
    .input(
      z.strictObject({
        project,
        query: z.string().min(1).max(200),
        limit: z.int().positive().max(100).optional(),
      }),
    )
    .query(
      async ({ ctx, input }): Promise<string[]> =>
        findFiles(await ctx.projects.require(input.project), input.query, input.limit ?? DEFAULT_FOUND),
    ),

  read: procedure
    .input(byPath)
    .query(
      async ({ ctx, input }): Promise<FileContent> =>
        readProjectFile(await ctx.projects.require(input.project), input.path),
    ),

  /** Null where there is no git. */
  status: procedure
    .input(byProject)
    .query(
      async ({ ctx, input }): Promise<GitStatus | null> =>
        gitStatus(await ctx.projects.require(input.project)),
    ),

  /** Everything since the last commit, new files included. Null where there is no git. */
  diff: procedure
    .input(byProject)
    .query(
      async ({ ctx, input }): Promise<Changes | null> =>
        ctx.changes.workingTree(await ctx.projects.require(input.project)),
    ),

  /** What one turn changed. */
  turnDiff: procedure
    .input(z.strictObject({ sessionId, turnId: z.string().min(1).max(64) }))
    .query(
      async ({ ctx, input }): Promise<TurnDiff> =>
        ctx.changes.turn(await liveSession(ctx, input.sessionId), input.turnId),
    ),
})
