import type { WorkspaceSetup } from '@chirality/workspaces'
import { z } from 'zod'
import * as answers from './file-answers.ts'
import { byProject, bySession, gitBase, project, worktreeId } from './values.ts'

// Calls about the worktrees of sessions, and what a new one gets beside what git checks out.

const byWorktree = z.strictObject({ id: worktreeId })
const nothing = z.void()
const MAX_TEXT = 16 * 1024
const MAX_ENTRIES = 64
const MAX_PATH = 512
const paths = z.array(z.string().max(MAX_PATH)).max(MAX_ENTRIES)

const setup = z.strictObject({
  copy: paths.describe('Files from the project’s folder, with `*` in the last part.'),
  share: paths.describe('Folders that the worktree shares with the project by a link.'),
  clone: paths.describe('Folders that the worktree gets a copy of.'),
  command: z.string().max(MAX_TEXT).optional().describe('Run once in the worktree, by /bin/sh.'),
  minutes: z.number().describe('The time limit of the command.'),
  variables: z
    .record(z.string().max(64), z.string().max(MAX_TEXT))
    .describe('For the command and the agent. `{port}` is a free port, `{name}` the name of the worktree.'),
}) satisfies z.ZodType<WorkspaceSetup>

const read = z.discriminatedUnion('isGood', [
  z.strictObject({ isGood: z.literal(true), setup }),
  z.strictObject({ isGood: z.literal(false), problem: z.string() }),
])

const shownSetup = z.strictObject({
  own: read
    .nullable()
    .describe('The user’s own, in the data folder. While there is one, `file` is not used.'),
  file: z
    .strictObject({ text: z.string(), read })
    .nullable()
    .describe('`.chirality/workspace.yaml` of the project: used once a person allowed exactly this text.'),
})

export type ShownSetup = z.infer<typeof shownSetup>

export const worktreeCalls = {
  plan: {
    input: z.strictObject({ project, base: gitBase.optional() }),
    output: answers.worktreePlan,
  },
  list: {
    input: z.strictObject({ project: project.optional(), diskUse: z.boolean().optional() }).optional(),
    output: z.array(answers.shownWorktree),
  },
  overlaps: { input: bySession, output: answers.overlaps },
  remove: { input: byWorktree, output: answers.removedWorktree },
  restore: { input: byWorktree, output: nothing },
  forget: { input: byWorktree, output: nothing },
  setup: { input: byProject, output: shownSetup },
  saveSetup: {
    input: z.strictObject({ project, setup: setup.nullable().describe('Null removes it.') }),
    output: shownSetup,
  },
}
