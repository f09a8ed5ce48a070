import type { TurnDiff as FoundTurnDiff } from '@chirality/sessions'
import type { Blame as FoundBlame, SessionOverlap } from '@chirality/workspaces'
import { z } from 'zod'

// The server's answers about files of a project.

const entry = z.strictObject({
  name: z.string(),
  path: z.string().describe('From the root of the project, with `/`.'),
  kind: z.enum(['file', 'folder', 'link', 'other']),
  sizeBytes: z.number(),
  modifiedAt: z.string(),
})

export const folderListing = z.strictObject({
  path: z.string(),
  entries: z.array(entry).describe('Folders first, then by name, numbers by their value.'),
  left: z.int().describe('How many more there are than are shown.'),
})

const content = { path: z.string(), sizeBytes: z.number(), modifiedAt: z.string() }

export const fileContent = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), ...content, text: z.string(), truncated: z.boolean() }),
  z.strictObject({ kind: z.literal('image'), ...content, mediaType: z.string(), base64: z.string() }),
  z.strictObject({ kind: z.literal('binary'), ...content }),
])

export const fileOfTree = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text: z.string() }),
  z.strictObject({ kind: z.literal('image'), mediaType: z.string(), base64: z.string() }),
  z.strictObject({ kind: z.literal('other'), sizeBytes: z.number() }).describe('No text, or too large.'),
])

export const gitStatus = z.strictObject({
  branch: z.string().nullable(),
  commit: z.string().nullable().describe('Null before the first commit.'),
  ahead: z.int(),
  behind: z.int(),
  files: z.array(
    z.strictObject({
      path: z.string().describe('From the root of the project; outside of it with `../`.'),
      index: z.string().describe('One letter each, as git has them: M, A, D, R, C, U, ? and . for none.'),
      worktree: z.string(),
      renamedFrom: z.string().optional(),
    }),
  ),
})

const fileChange = z.strictObject({
  path: z.string(),
  kind: z.enum(['added', 'deleted', 'changed', 'renamed']),
  renamedFrom: z.string().optional(),
  added: z.int().nullable().describe('Null for what is not text.'),
  removed: z.int().nullable(),
})

export const movedSubmodules = z.array(
  z.strictObject({ path: z.string(), from: z.string().nullable(), to: z.string().nullable() }),
)

const changed = {
  files: z.array(fileChange),
  patch: z.string().describe('A unified diff, as `git apply` takes it.'),
  truncated: z.boolean().describe('The patch was too large; `files` is complete.'),
  submodules: movedSubmodules
    .optional()
    .describe(
      'Submodules at another commit than the last commit names, than before the turn, or, as committed, than at the base. `from` is null for a new one, `to` for one that is gone. Neither in `files` nor in `patch`.',
    ),
}

export const changes = z.strictObject(changed)

export const turnDiff = z.strictObject({
  ...changed,
  source: z
    .enum(['git', 'tools'])
    .describe('`tools`: what the agent’s own tools said, where there is no git. Not what a command changed.'),
}) satisfies z.ZodType<FoundTurnDiff>

const userCommit = z.strictObject({
  id: z.string(),
  author: z.string(),
  at: z.number(),
  subject: z.string(),
})
const when = z.number().nullable()

const lineOrigin = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('turns'),
    turns: z.array(z.string()).describe('Keys of `turns`: one, or all that ran when it was written.'),
    isSure: z.boolean().describe('False if the end of the turn was not recorded.'),
    commit: userCommit.optional().describe('Through which it came here from another branch or worktree.'),
  }),
  z.strictObject({ kind: z.literal('commit'), commit: userCommit }),
  z
    .strictObject({ kind: z.literal('between'), since: when, until: when })
    .describe('Not committed, and not in a recorded turn: by a person or another program.'),
])

const blamedTurn = z.strictObject({
  sessionId: z.string(),
  turnId: z.string(),
  title: z.string().nullable(),
  harness: z.string().nullable(),
  model: z.string().nullable(),
  prompt: z.string().nullable().describe('Its first 2,000 characters.'),
  at: z.string().nullable(),
  costUsd: z.number().nullable().describe('Of the whole turn.'),
  costIsEstimate: z.boolean(),
  isDeleted: z.boolean().describe('The session is deleted: nothing else is known of it.'),
})

/** Which turn wrote each line of a file. */
export const blame = z.strictObject({
  path: z.string(),
  lines: z.array(z.strictObject({ line: z.int(), count: z.int(), origin: lineOrigin })),
  turns: z.record(z.string(), blamedTurn),
}) satisfies z.ZodType<FoundBlame>

const keptWork = z.strictObject({
  commits: z.int().describe('Those that are on no other branch, tag or remote branch.'),
  files: z.int().describe('Changed and new files that were not committed.'),
  at: z.string(),
})

export const shownWorktree = z
  .strictObject({
    id: z.string(),
    projectRoot: z.string(),
    folder: z.string(),
    branch: z.string(),
    base: z.string().describe('The commit it began at.'),
    baseBranch: z.string().nullable(),
    createdAt: z.string(),
    condition: z
      .enum(['ready', 'missing', 'orphaned', 'removed'])
      .describe(
        '`missing`: removed by hand. `orphaned`: its repository is gone. `removed`: its work is kept in the repository.',
      ),
    kept: keptWork.nullable().describe('What a removed one left, and `restore` brings back.'),
    sessionId: z.string().nullable().describe('The session that works in it.'),
    sessionTitle: z.string().nullable(),
    diskBytes: z.number().nullable().describe('Null if it was not asked for.'),
  })
  .meta({ id: 'Worktree' })

export const removedWorktree = z.strictObject({
  kept: keptWork.nullable().describe('Null if everything is elsewhere, too.'),
})

const planned = {
  branches: z.array(z.string()).describe('What it can begin at, the latest work first.'),
  othersAtWork: z.int().describe('Sessions whose agents work in the project’s folder now.'),
}

export const worktreePlan = z.discriminatedUnion('can', [
  z.strictObject({
    can: z.literal(true),
    ...planned,
    commit: z.string(),
    branch: z.string().nullable(),
    uncommitted: z.int().describe('Changed files in the project’s folder, which the worktree will not have.'),
    hasLfsPointers: z.boolean().describe('Files of Git LFS would be pointers, because LFS is not set up.'),
  }),
  z.strictObject({ can: z.literal(false), ...planned, reason: z.string() }),
])

const lineRanges = z.array(z.tuple([z.int(), z.int()])).describe('First and last line of each.')

/** Changes of other sessions of the repository in the files that a session changed. */
export const overlaps = z.array(
  z.strictObject({
    sessionId: z.string(),
    title: z.string().nullable(),
    branch: z.string().nullable().describe('Null if it works in the folder of the project.'),
    inSameFolder: z.boolean(),
    files: z.array(
      z.strictObject({
        path: z.string(),
        conflicts: z.boolean().describe('The two would not merge here.'),
        own: lineRanges,
        theirs: lineRanges,
      }),
    ),
  }),
) satisfies z.ZodType<SessionOverlap[]>

export type FolderListing = z.infer<typeof folderListing>
export type FolderEntry = FolderListing['entries'][number]
export type FileContent = z.infer<typeof fileContent>
export type FileOfTree = z.infer<typeof fileOfTree>
export type Overlaps = z.infer<typeof overlaps>
