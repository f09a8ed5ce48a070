import { hasCode } from '@chirality/core'
import { inRadar } from '@chirality/sessions'
import {
  checkBase,
  diskUse,
  type KeptWork,
  type ListedWorktree,
  listBranches,
  projectOf,
  readWorkspaceFile,
  sessionOverlaps,
  type WorkspaceFile,
  type WorkspaceSetup,
} from '@chirality/workspaces'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { storedSession } from '../sessions/live-session.ts'
import * as answers from '../shapes/files.ts'
import { byProject, bySession, gitBase, nothing, project, worktreeId } from '../shapes/values.ts'

// Calls about the worktrees of sessions, and what a new one gets beside what git checks out.

const byWorktree = z.strictObject({ id: worktreeId })
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

const readSetup = z.discriminatedUnion('isGood', [
  z.strictObject({ isGood: z.literal(true), setup }),
  z.strictObject({ isGood: z.literal(false), problem: z.string() }),
])

const shownSetup = z.strictObject({
  own: readSetup
    .nullable()
    .describe('The user’s own, in the data folder. While there is one, `file` is not used.'),
  file: z
    .strictObject({ text: z.string(), read: readSetup })
    .nullable()
    .describe('`.chirality/workspace.yaml` of the project: used once a person allowed exactly this text.'),
})

type ShownSetup = z.infer<typeof shownSetup>

export const worktreeCalls = {
  plan: query({
    about:
      'Tells whether a session of a project can have a worktree of its own, and what it would begin with.',
    input: z.strictObject({ project, base: gitBase.optional() }),
    output: answers.worktreePlan,
    run: async (centre, input) =>
      planWorktree(centre, await centre.projects.require(input.project), input.base),
  }),

  list: query({
    about: 'Lists worktrees, oldest first, of all registered projects if none is named.',
    input: z.strictObject({ project: project.optional(), diskUse: z.boolean().optional() }).optional(),
    output: z.array(answers.shownWorktree),
    run: (centre, input) => listWorktrees(centre, input),
  }),

  overlaps: query({
    about:
      'Lists other sessions of the repository that changed the same files, and where the two would not merge.',
    input: bySession,
    output: answers.overlaps,
    where: 'here',
    run: (centre, input) => overlapsOf(centre, input.sessionId),
  }),

  remove: mutation({
    about:
      'Removes folder and branch of a worktree, and tells what is kept of them. Refused while an agent works there.',
    input: byWorktree,
    output: answers.removedWorktree,
    run: async (centre, input) => ({ kept: await removeWorktree(centre, input.id) }),
  }),

  restore: mutation({
    about: 'Makes a removed or missing worktree again, with its branch, its files and what was staged.',
    input: byWorktree,
    output: nothing,
    run: (centre, input) => restoreWorktree(centre, input.id),
  }),

  forget: mutation({
    about: 'Gives up what is kept of a removed worktree.',
    input: byWorktree,
    output: nothing,
    run: (centre, input) => forgetWorktree(centre, input.id),
  }),

  setup: query({
    about:
      'Tells what a new worktree of a project gets beside what git checks out: as the user says, and as the project asks.',
    input: byProject,
    output: shownSetup,
    run: async (centre, input) => setupOf(centre, await centre.projects.require(input.project)),
  }),

  // In the user's data folder: no file of the project can change it, and it needs no allowance.
  saveSetup: mutation({
    about: 'Stores what new worktrees of a project get, in the user’s data folder.',
    input: z.strictObject({ project, setup: setup.nullable().describe('Null removes it.') }),
    output: shownSetup,
    run: async (centre, input) => {
      const root = await centre.projects.require(input.project)
      await centre.host.ownSetups.set(root, input.setup)
      return setupOf(centre, root)
    },
  }),
}

type ShownWorktree = z.infer<typeof answers.shownWorktree>
type WorktreePlan = z.infer<typeof answers.worktreePlan>

async function planWorktree({ host }: Centre, root: string, base: string | undefined): Promise<WorktreePlan> {
  const othersAtWork = host
    .statuses()
    .filter(
      ({ projectRoot, worktree, phase }) => projectRoot === root && !worktree && phase !== 'idle',
    ).length
  const branches = await listBranches(root)
  try {
    const { branch, commit, uncommitted, hasLfsPointers } = await checkBase(root, base)
    return { can: true, branches, othersAtWork, branch, commit, uncommitted, hasLfsPointers }
  } catch (error) {
    if (!(error instanceof Error) || !hasCode(error, 'worktree-refused')) throw error
    return { can: false, branches, othersAtWork, reason: error.message }
  }
}

async function setupOf({ host }: Centre, root: string): Promise<ShownSetup> {
  const own = host.ownSetups.get(root)
  const file = await readWorkspaceFile(root)
  return { own: own ? read(own) : null, file: file ? { text: file.text, read: read(file) } : null }
}

function read({ setup }: Pick<WorkspaceFile, 'setup'>): NonNullable<ShownSetup['own']> {
  return 'problem' in setup ? { isGood: false, problem: setup.problem } : { isGood: true, setup }
}

async function overlapsOf(centre: Centre, sessionId: string): Promise<answers.Overlaps> {
  const { projectRoot: root } = await storedSession(centre, sessionId)
  const shown = { root, isShown: ({ id }: { id: string }) => !centre.discarded.has(id) }
  return (await inRadar(centre.host, shown, place => sessionOverlaps(place, sessionId))) ?? []
}

async function listWorktrees(
  { host, projects }: Centre,
  {
    project,
    diskUse: measures = false,
  }: { project?: string | undefined; diskUse?: boolean | undefined } = {},
): Promise<ShownWorktree[]> {
  const wanted = project === undefined ? undefined : await projects.require(project)
  const roots = new Set(wanted === undefined ? (await projects.list()).map(({ root }) => root) : [wanted])
  const shown = (await host.worktrees.list()).filter(worktree => roots.has(projectOf(worktree)))
  const { sessions } = await host.store.page({ projectRoots: [...roots], limit: Number.POSITIVE_INFINITY })
  const users = new Map(sessions.flatMap(session => (session.worktree ? [[session.worktree, session]] : [])))
  return Promise.all(
    shown.map(async worktree => ({
      ...facts(worktree),
      sessionId: users.get(worktree.id)?.id ?? null,
      sessionTitle: users.get(worktree.id)?.title ?? null,
      diskBytes: measures ? await diskUse(worktree) : null,
    })),
  )
}

function facts(worktree: ListedWorktree): Omit<ShownWorktree, 'sessionId' | 'sessionTitle' | 'diskBytes'> {
  const { id, folder, branch, base, baseBranch, createdAt, condition, kept } = worktree
  return {
    id,
    folder,
    branch,
    base,
    baseBranch,
    createdAt,
    condition,
    projectRoot: projectOf(worktree),
    kept: kept === undefined ? null : shownKept(kept),
  }
}

async function removeWorktree(centre: Centre, id: string): Promise<ShownWorktree['kept']> {
  await requireWorktree(centre, id)
  const kept = await centre.host.removeWorktree(id)
  return kept === undefined ? null : shownKept(kept)
}

async function restoreWorktree(centre: Centre, id: string): Promise<void> {
  await requireWorktree(centre, id)
  await centre.host.worktrees.restore(id)
}

async function forgetWorktree(centre: Centre, id: string): Promise<void> {
  await requireWorktree(centre, id)
  await centre.host.worktrees.forget(id)
}

function shownKept({ commits, files, at }: KeptWork): NonNullable<ShownWorktree['kept']> {
  return { commits, files, at }
}

/** Only worktrees of projects that the user registered. */
async function requireWorktree({ host, projects }: Centre, id: string): Promise<void> {
  await projects.require(projectOf(await host.worktrees.get(id)))
}
