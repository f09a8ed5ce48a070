import { stat } from 'node:fs/promises'
import { findProjectOwner, type ProjectOwner } from '@chirality/sessions'
import { z } from 'zod'
import type { RegisteredProject } from '../projects/project-registry.ts'
import { completeFolder } from '../projects/typed-folder.ts'
import { byProject, project } from './inputs.ts'
import { procedure, router } from './trpc.ts'

export interface ProjectInfo extends RegisteredProject {
  /** This server has it. */
  open: boolean
  /** Another one has. */
  lockedBy: ProjectOwner | null
  missing: boolean
}

export const projectsRouter = router({
  list: procedure.query(async ({ ctx }): Promise<ProjectInfo[]> => {
    const registered = await ctx.projects.list()
    const open = new Set(ctx.host.projects())
    return Promise.all(registered.map(entry => describe(entry, open.has(entry.root))))
  }),

  /** Says that agents may work in a folder. */
  register: procedure
    .input(z.strictObject({ path: project, name: z.string().min(1).max(100).optional() }))
    .mutation(async ({ ctx, input }): Promise<ProjectInfo> => {
      const entry = await ctx.projects.add(input.path, input.name)
      return describe(entry, ctx.host.projects().includes(entry.root))
    }),

  /** For who types the path of a folder to add: what it can become. Names of folders only. */
  folders: procedure
    .input(z.strictObject({ typed: z.string().max(4096) }))
    .query(({ input }): Promise<string[]> => completeFolder(input.typed)),

  /** Takes the project for this server, and goes on with turns that an earlier one left. */
  open: procedure.input(byProject).mutation(async ({ ctx, input }) => {
    return ctx.host.openProject(await ctx.projects.require(input.project))
  }),

  /** Forgets the folder and lets go of it. Nothing in it is deleted. */
  remove: procedure.input(byProject).mutation(async ({ ctx, input }) => {
    await ctx.projects.remove(await ctx.projects.require(input.project))
  }),
})

async function describe(entry: RegisteredProject, open: boolean): Promise<ProjectInfo> {
  const folder = await stat(entry.root).catch(() => undefined)
  if (!folder?.isDirectory()) return { ...entry, open: false, lockedBy: null, missing: true }
  const owner = open ? undefined : await findProjectOwner(entry.root).catch(() => undefined)
  return { ...entry, open, lockedBy: owner ?? null, missing: false }
}
