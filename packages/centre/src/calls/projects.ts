import { stat } from 'node:fs/promises'
import { findProjectOwner } from '@chirality/sessions'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import type { RegisteredProject } from '../projects/project-registry.ts'
import { completeFolder, findRepositories } from '../projects/typed-folder.ts'
import { projectInfo, projectReport } from '../shapes/sessions.ts'
import { byProject, nothing, project } from '../shapes/values.ts'

export type ProjectInfo = z.infer<typeof projectInfo>

export const projectCalls = {
  list: query({
    about: 'Lists the registered projects, and which process has each open.',
    output: z.array(projectInfo),
    run: async ({ host, projects }) => {
      const registered = await projects.list()
      const open = new Set(host.projects())
      return Promise.all(registered.map(entry => describe(entry, open.has(entry.root))))
    },
  }),

  register: mutation({
    about: 'Registers a folder for agents.',
    input: z.strictObject({ path: project, name: z.string().min(1).max(100).optional() }),
    output: projectInfo,
    run: async ({ host, projects }, input) => {
      const entry = await projects.add(input.path, input.name)
      return describe(entry, host.projects().includes(entry.root))
    },
  }),

  repositories: query({
    about:
      'Lists git repositories under the home folder that are no projects yet, the most recently used first.',
    output: z.array(z.string()),
    run: async ({ projects }) => findRepositories(new Set((await projects.list()).map(({ root }) => root))),
  }),

  folders: query({
    about: 'Completes a typed path with the names of folders.',
    input: z.strictObject({ typed: z.string().max(4096) }),
    output: z.array(z.string()),
    run: (_, { typed }) => completeFolder(typed),
  }),

  open: mutation({
    about: 'Makes this server the owner of a project, and adopts turns that an earlier server left.',
    input: byProject,
    output: projectReport,
    run: async ({ host, projects }, input) => host.openProject(await projects.require(input.project)),
  }),

  remove: mutation({
    about: 'Unregisters and closes a project. Nothing in its folder is deleted.',
    input: byProject,
    output: nothing,
    run: async ({ projects }, input) => projects.remove(await projects.require(input.project)),
  }),
}

async function describe(entry: RegisteredProject, open: boolean): Promise<ProjectInfo> {
  const folder = await stat(entry.root).catch(() => undefined)
  if (!folder?.isDirectory()) return { ...entry, open: false, lockedBy: null, missing: true }
  const owner = open ? undefined : await findProjectOwner(entry.root).catch(() => undefined)
  return { ...entry, open, lockedBy: owner ?? null, missing: false }
}
