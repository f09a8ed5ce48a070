import { stat } from 'node:fs/promises'
import { findProjectOwner } from '@chirality/sessions'
import type { z } from 'zod'
import type { projectInfo } from '../contract/answers.ts'
import { CALLS } from '../contract/calls.ts'
import type { RegisteredProject } from '../projects/project-registry.ts'
import { completeFolder, findRepositories } from '../projects/typed-folder.ts'
import { ask, call, router } from './trpc.ts'

export type ProjectInfo = z.infer<typeof projectInfo>

export const projectsRouter = router({
  list: ask(CALLS.projects.list).query(async ({ ctx }) => {
    const registered = await ctx.projects.list()
    const open = new Set(ctx.host.projects())
    return Promise.all(registered.map(entry => describe(entry, open.has(entry.root))))
  }),

  /** Registers a folder for agents. */
  register: call(CALLS.projects.register).mutation(async ({ ctx, input }) => {
    const entry = await ctx.projects.add(input.path, input.name)
    return describe(entry, ctx.host.projects().includes(entry.root))
  }),

  /** Git repositories under the home folder that are no projects yet, the most recently used first. */
  repositories: ask(CALLS.projects.repositories).query(async ({ ctx }) => {
    const known = new Set((await ctx.projects.list()).map(({ root }) => root))
    return findRepositories(known)
  }),

  /** Completions of a typed folder path. Names of folders only. */
  folders: call(CALLS.projects.folders).query(({ input }) => completeFolder(input.typed)),

  /** Makes this server the owner of the project, and adopts turns that an earlier server left. */
  open: call(CALLS.projects.open).mutation(async ({ ctx, input }) => {
    return ctx.host.openProject(await ctx.projects.require(input.project))
  }),

  /** Unregisters and closes the folder. Nothing in it is deleted. */
  remove: call(CALLS.projects.remove).mutation(async ({ ctx, input }) => {
    await ctx.projects.remove(await ctx.projects.require(input.project))
  }),
})

async function describe(entry: RegisteredProject, open: boolean): Promise<ProjectInfo> {
  const folder = await stat(entry.root).catch(() => undefined)
  if (!folder?.isDirectory()) return { ...entry, open: false, lockedBy: null, missing: true }
  const owner = open ? undefined : await findProjectOwner(entry.root).catch(() => undefined)
  return { ...entry, open, lockedBy: owner ?? null, missing: false }
}
