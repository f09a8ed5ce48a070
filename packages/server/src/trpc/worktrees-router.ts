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
} from '@chirality/workspaces'
import type { z } from 'zod'
import { CALLS } from '../contract/calls.ts'
import type { Overlaps, shownWorktree, worktreePlan } from '../contract/file-answers.ts'
import type { ShownSetup } from '../contract/worktree-calls.ts'
import type { AppServices } from './context.ts'
import { storedSession } from './live-session.ts'
import { call, router } from './trpc.ts'

export const worktreesRouter = router({
  /** Whether a session of the project can have a worktree of its own, and what it would begin with. */
  plan: call(CALLS.worktrees.plan).query(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    return planWorktree(ctx, root, input.base)
  }),

  /** Of all registered projects if none is named, oldest first. */
  list: call(CALLS.worktrees.list).query(({ ctx, input }) => listWorktrees(ctx, input)),

  /** Other sessions of the repository that changed the same files, and where the two would not merge. */
  overlaps: call(CALLS.worktrees.overlaps).query(({ ctx, input }) => overlapsOf(ctx, input.sessionId)),

  /** Removes folder and branch, and says what is kept of them. Refused while an agent works there. */
  remove: call(CALLS.worktrees.remove).mutation(async ({ ctx, input }) => ({
    kept: await removeWorktree(ctx, input.id),
  })),

  /** Makes a removed or missing one again, with its branch, its files and what was staged. */
  restore: call(CALLS.worktrees.restore).mutation(({ ctx, input }) => restoreWorktree(ctx, input.id)),

  /** Gives up what is kept of a removed one. */
  forget: call(CALLS.worktrees.forget).mutation(({ ctx, input }) => forgetWorktree(ctx, input.id)),

  /** What a new worktree of the project gets beside what git checks out: as the user says, and as the project asks. */
  setup: call(CALLS.worktrees.setup).query(async ({ ctx, input }) =>
    setupOf(ctx, await ctx.projects.require(input.project)),
  ),

  /** In the user's data folder: no file of the project can change it, and it needs no allowance. */
  saveSetup: call(CALLS.worktrees.saveSetup).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    await ctx.host.ownSetups.set(root, input.setup)
    return setupOf(ctx, root)
  }),
})

type ShownWorktree = z.infer<typeof shownWorktree>
type WorktreePlan = z.infer<typeof worktreePlan>

async function planWorktree(
  { host }: AppServices,
  root: string,
  base: string | undefined,
): Promise<WorktreePlan> {
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

async function setupOf({ host }: AppServices, root: string): Promise<ShownSetup> {
  const own = host.ownSetups.get(root)
  const file = await readWorkspaceFile(root)
  return { own: own ? read(own) : null, file: file ? { text: file.text, read: read(file) } : null }
}

function read({ setup }: Pick<WorkspaceFile, 'setup'>): NonNullable<ShownSetup['own']> {
  return 'problem' in setup ? { isGood: false, problem: setup.problem } : { isGood: true, setup }
}

async function overlapsOf(services: AppServices, sessionId: string): Promise<Overlaps> {
  const { projectRoot: root } = await storedSession(services, sessionId)
  const shown = { root, isShown: ({ id }: { id: string }) => !services.discarded.has(id) }
  return (await inRadar(services.host, shown, place => sessionOverlaps(place, sessionId))) ?? []
}

export async function listWorktrees(
  { host, projects }: AppServices,
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
    ...{ id, folder, branch, base, baseBranch, createdAt, condition, projectRoot: projectOf(worktree) },
    kept: kept === undefined ? null : shownKept(kept),
  }
}

export async function removeWorktree(services: AppServices, id: string): Promise<ShownWorktree['kept']> {
  await requireWorktree(services, id)
  const kept = await services.host.removeWorktree(id)
  return kept === undefined ? null : shownKept(kept)
}

export async function restoreWorktree(services: AppServices, id: string): Promise<void> {
  await requireWorktree(services, id)
  await services.host.worktrees.restore(id)
}

export async function forgetWorktree(services: AppServices, id: string): Promise<void> {
  await requireWorktree(services, id)
  await services.host.worktrees.forget(id)
}

function shownKept({ commits, files, at }: KeptWork): NonNullable<ShownWorktree['kept']> {
  return { commits, files, at }
}

/** Only worktrees of projects that the user registered. */
async function requireWorktree({ host, projects }: AppServices, id: string): Promise<void> {
  await projects.require(projectOf(await host.worktrees.get(id)))
}
