import {
  branchDiff,
  changedFile,
  commitWork,
  discard,
  goBackTo,
  handConflicts,
  type LiveSession,
  mergeWork,
  type PushResult,
  backPlan as planBack,
  pushPlan as planPush,
  pushWork,
  type ReviewHost,
  type ReviewState,
  type ShownBackPlan,
  type ShownPushPlan,
  reviewState as stateOf,
  undoBack,
  undoMove,
} from '@chirality/sessions'
import type { BranchState, Commit, FileMove, MergeResult, MoveCause } from '@chirality/workspaces'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { shownContent } from '../files/read-file.ts'
import { liveSession, storedSession } from '../sessions/live-session.ts'
import { changes, fileOfTree, movedSubmodules } from '../shapes/files.ts'
import { sessionRecord } from '../shapes/sessions.ts'
import { bySession, relativePath, sessionId } from '../shapes/values.ts'

// Calls about what a session changed: taking it back, committing, merging, and going back before a turn.

const turnId = z.string().min(1).max(64)
const moveId = z.string().min(1).max(64)
const remote = z.string().min(1).max(200)
const files = z.array(z.string())
const filePath = relativePath.min(1)
const MAX_FILES = 10_000
const MAX_LINES = 200_000
const hunk = z.strictObject({
  oldStart: z.int().nonnegative(),
  newStart: z.int().nonnegative(),
  lines: z.array(z.string()).min(1).max(MAX_LINES).describe('Each begins with a blank, `+` or `-`.'),
})

const moveCause = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('discard') }),
  z.strictObject({ kind: z.literal('fork') }),
  z.strictObject({
    kind: z.literal('back'),
    turnId: z.string(),
    sessionId: z.string().describe('The session that going back made.'),
  }),
]) satisfies z.ZodType<MoveCause>

const fileMove = z.strictObject({
  id: z.string(),
  cause: moveCause.describe('Undoing `back` brings the conversation back, too.'),
  what: z.string().describe('In one line.'),
  at: z.string(),
  state: z.enum(['done', 'undone']),
  files,
  left: files
    .optional()
    .describe(
      'Of these: somebody else changed them while this was done, so they are as that person left them.',
    ),
}) satisfies z.ZodType<FileMove>

const branchState = z.strictObject({
  branch: z.string(),
  base: z.string(),
  ahead: z.int().describe('Commits that the base does not have.'),
  behind: z.int(),
  uncommitted: z.int(),
  conflicts: files.describe('Files that would not merge.'),
  blocked: z
    .string()
    .nullable()
    .describe('Why a merge would be refused where the base is checked out; null if nothing is in its way.'),
}) satisfies z.ZodType<BranchState>

const commit = z.strictObject({ commit: z.string(), files }) satisfies z.ZodType<Commit>

const mergeResult = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('merged'),
    commit: z.string(),
    how: z.enum(['fast-forward', 'merge', 'squash']),
  }),
  z.strictObject({ kind: z.literal('conflicts'), files }),
  z.strictObject({ kind: z.literal('nothing') }),
]) satisfies z.ZodType<MergeResult>

const backPlan = z.strictObject({
  files: files.describe('They become as they were before the agent changed them.'),
  changedSince: files.describe('Of these: somebody else changed them too. They stay as they are.'),
  cannotUndo: z.array(z.string()).describe('What stays as it is, in words.'),
}) satisfies z.ZodType<ShownBackPlan>

const pushPlan = z.strictObject({
  remotes: z.array(z.string()),
  remote: z.string(),
  branch: z.string(),
  url: z.string().describe('CallPlace the remote is, without a password. Give it to `push`.'),
  base: z.string().nullable().describe('Null: the default branch there.'),
  commit: z.string().describe('The newest of the branch. Give it to `push`.'),
  kind: z.enum(['new', 'forward', 'up-to-date']).describe('What the remote has of the branch.'),
  commits: z
    .array(z.strictObject({ commit: z.string(), subject: z.string() }))
    .describe('Those that the remote does not have, newest first, 100 at most.'),
  total: z.int(),
  uncommitted: z.int().describe('Changed files that are in no commit, and are not pushed.'),
  hooks: files.describe('Hooks of the repository that are run if they are allowed.'),
  command: z.string().describe('As it is run.'),
  pullRequest: z.discriminatedUnion('can', [
    z.strictObject({
      can: z.literal(true),
      title: z.string(),
      body: z.string(),
      program: z.enum(['gh', 'glab']).describe('Of the user, which opens it.'),
      into: z
        .array(z.strictObject({ repository: z.string(), command: z.string() }))
        .min(1)
        .describe('CallPlace it can be opened; the first is proposed. For a fork that is `upstream`.'),
    }),
    z.strictObject({ can: z.literal(false), reason: z.string() }),
  ]),
}) satisfies z.ZodType<ShownPushPlan>

const pushResult = z.strictObject({
  remote: z.string(),
  branch: z.string(),
  commit: z.string(),
  kind: z.enum(['new', 'forward', 'up-to-date']),
  said: z.string().describe('What the remote said besides.'),
  pullRequest: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('opened'), url: z.string() }),
      z.strictObject({ kind: z.literal('failed'), reason: z.string() }),
    ])
    .nullable()
    .describe('Null if none was asked for. `failed`: the branch is pushed all the same.'),
}) satisfies z.ZodType<PushResult>

const reviewState = z.strictObject({
  branches: branchState
    .nullable()
    .describe('Null if the session works in the folder of the project, or one of the branches is gone.'),
  proposedMessage: z.string().describe('For a commit, made of the conversation without a model.'),
  hooks: files.describe('The hooks that a commit would run, if they are allowed.'),
  uncommitted: files.describe('Files that a commit of this session would have.'),
  submodules: movedSubmodules
    .optional()
    .describe('At another commit than the last commit names. They are not committed or taken back here.'),
  remotes: z.array(z.string()).describe('That a branch can be pushed to.'),
  moves: z.array(fileMove).describe('What was taken back, newest first.'),
  untold: z.array(z.string()).describe('What the agent is told with the next message.'),
}) satisfies z.ZodType<ReviewState>

/** A function of the sessions package, for a session of a registered project. */
function inSession<I, T>(
  run: (host: ReviewHost, session: LiveSession, input: I) => Promise<T>,
): (centre: Centre, input: I & { sessionId: string }) => Promise<T> {
  return async (centre, input) => run(centre.host, await liveSession(centre, input.sessionId), input)
}

const byMove = z.strictObject({ sessionId, id: moveId })

/** The changes of a session: taking them back, committing, merging, pushing, and going back before a turn. */
export const reviewCalls = {
  state: query({
    about:
      'Gives branch and base of a session, what was taken back, and a message for a commit. Null without git.',
    input: bySession,
    output: reviewState.nullable().describe('Null without git.'),
    where: 'owner',
    run: inSession(stateOf),
  }),

  branchDiff: query({
    about: 'Gives all that the branch of a session has and its base has not, committed or not.',
    input: bySession,
    output: changes.nullable().describe('Null if the session has no branch of its own.'),
    where: 'owner',
    run: inSession(branchDiff),
  }),

  file: query({
    about: 'Gives a changed file as it was, or as it became.',
    input: z.strictObject({
      sessionId,
      turnId: turnId.optional().describe('Default: what is not committed.'),
      since: z.literal('base').optional().describe('Of all that the branch has and its base has not.'),
      path: filePath,
      side: z.enum(['old', 'new']),
    }),
    output: fileOfTree.nullable().describe('Null if there is no such file on this side.'),
    where: 'owner',
    run: async (centre, input) => {
      const found = await changedFile(centre.host, await liveSession(centre, input.sessionId), input)
      return found === undefined ? null : shownContent(input.path, found)
    },
  }),

  discard: mutation({
    about:
      'Takes changes back in the work folder, whole files or single hunks. The agent is told with its next message.',
    input: z.strictObject({
      sessionId,
      turnId: turnId.optional().describe('Default: since the last commit.'),
      files: z
        .array(
          z.strictObject({
            path: filePath,
            renamedFrom: filePath.optional(),
            hunks: z.array(hunk).min(1).max(MAX_FILES).optional(),
          }),
        )
        .min(1)
        .max(MAX_FILES),
    }),
    output: fileMove,
    where: 'owner',
    run: inSession(discard),
  }),

  undo: mutation({
    about: 'Brings back what was taken back.',
    input: byMove,
    output: fileMove,
    where: 'owner',
    run: async (centre, { sessionId: id, id: move }) =>
      undoMove(centre.host, await liveSession(centre, id), { id: move, action: 'undo' }),
  }),

  redo: mutation({
    about: 'Takes changes back again that were brought back.',
    input: byMove,
    output: fileMove,
    where: 'owner',
    run: async (centre, { sessionId: id, id: move }) =>
      undoMove(centre.host, await liveSession(centre, id), { id: move, action: 'redo' }),
  }),

  commit: mutation({
    about: 'Commits files of a session on its branch.',
    input: z.strictObject({
      sessionId,
      message: z.string().min(1).max(50_000),
      files: z.array(filePath).min(1).max(MAX_FILES).optional(),
      hooks: z.boolean().optional().describe('Runs the hooks of the repository. Default: no.'),
    }),
    output: commit,
    where: 'owner',
    run: inSession(commitWork),
  }),

  merge: mutation({
    about:
      'Merges the branch of a session into its base; `rebase` puts the branch on top of the base instead.',
    input: z.strictObject({
      sessionId,
      how: z.enum(['merge', 'squash', 'rebase']),
      message: z.string().min(1).max(50_000).optional(),
    }),
    output: mergeResult,
    where: 'owner',
    run: inSession(mergeWork),
  }),

  resolve: mutation({
    about: 'Merges the base into the branch of a session, and asks its agent to resolve the conflicts.',
    input: bySession,
    output: z.strictObject({ files }),
    where: 'owner',
    run: inSession(handConflicts),
  }),

  pushPlan: query({
    about:
      'Tells what a push would do, as the remote says, and the pull request that could be opened. Sends nothing.',
    input: z.strictObject({ sessionId, remote: remote.optional() }),
    output: pushPlan,
    where: 'owner',
    run: inSession(planPush),
  }),

  push: mutation({
    about: 'Pushes the branch through the user’s own git, and opens a pull request with gh. Never forces.',
    input: z.strictObject({
      sessionId,
      remote: remote.optional(),
      commit: z
        .string()
        .regex(/^[0-9a-f]{40,64}$/, 'must be a whole commit id')
        .describe('Of `pushPlan`.'),
      url: z.string().min(1).max(4000).describe('Of `pushPlan`. Refused if the remote has another one now.'),
      hooks: z.boolean().optional().describe('Runs the hooks of the repository. Default: no.'),
      pullRequest: z
        .strictObject({
          title: z.string().min(1).max(250),
          body: z.string().max(60_000),
          draft: z.boolean().optional(),
          into: z.string().min(1).max(500).optional().describe('Of `pushPlan`. Default: the first.'),
        })
        .optional(),
    }),
    output: pushResult,
    where: 'owner',
    run: inSession(pushWork),
  }),

  backPlan: query({
    about: 'Tells what going back before a turn would do. Changes nothing.',
    input: z.strictObject({ sessionId, turnId }),
    output: backPlan,
    where: 'owner',
    run: async (centre, input) =>
      planBack(centre.host, await liveSession(centre, input.sessionId), input.turnId),
  }),

  back: mutation({
    about:
      'Makes files as they were before a turn, and a session whose conversation ends there. The old session is archived.',
    input: z.strictObject({
      sessionId,
      turnId,
      overwrite: z.array(filePath).max(MAX_FILES).optional().describe('Of `changedSince`.'),
    }),
    output: z.strictObject({
      session: sessionRecord,
      moveId: z.string().nullable().describe('Null if no file had to change.'),
      prompt: z.string().describe('The message that the turn began with.'),
      left: files.describe('Files that somebody else changed while this was done: they did not go back.'),
    }),
    where: 'owner',
    makes: ({ session }) => session,
    run: inSession(goBackTo),
  }),

  undoBack: mutation({
    about: 'Undoes going back: brings the files and the old session back.',
    input: z.strictObject({ sessionId, from: sessionId, moveId: moveId.nullable() }),
    output: sessionRecord,
    where: 'owner',
    run: async (centre, input) => {
      await storedSession(centre, input.sessionId)
      return undoBack(centre.host, await liveSession(centre, input.from), input)
    },
  }),
}
