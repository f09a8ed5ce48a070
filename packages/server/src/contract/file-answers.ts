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

const changed = {
  files: z.array(fileChange),
  patch: z.string().describe('A unified diff, as `git apply` takes it.'),
  truncated: z.boolean().describe('The patch was too large; `files` is complete.'),
}

export const changes = z.strictObject(changed)

export const turnDiff = z.strictObject({
  ...changed,
  source: z
    .enum(['git', 'tools'])
    .describe('`tools`: what the agent’s own tools said, where there is no git. Not what a command changed.'),
})

export type FolderListing = z.infer<typeof folderListing>
export type FolderEntry = FolderListing['entries'][number]
export type FileContent = z.infer<typeof fileContent>
export type GitStatus = z.infer<typeof gitStatus>
export type ChangedFile = GitStatus['files'][number]
export type Changes = z.infer<typeof changes>
export type FileChange = Changes['files'][number]
export type TurnDiff = z.infer<typeof turnDiff>
