import { type DiskUse, diskUseOf, type RawLog, readRawLogRule, writeRawLogRule } from '@chirality/sessions'
import { diskUse, projectOf } from '@chirality/workspaces'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { project } from '../shapes/values.ts'

/** A hundred years, and a petabyte: more than any rule means. */
const MAX_DAYS = 36_500
const MAX_BYTES = 1e15

const rule = z
  .discriminatedUnion('keep', [
    z.strictObject({ keep: z.literal('forever') }),
    z.strictObject({ keep: z.literal('days'), days: z.int().positive().max(MAX_DAYS) }),
    z.strictObject({ keep: z.literal('size'), bytes: z.int().positive().max(MAX_BYTES) }),
  ])
  .describe('How long raw logs are kept. A size is of the projects together: every hour, of the open ones.')

const amount = z.strictObject({ logs: z.int(), bytes: z.number() })
const prunedProject = amount.extend({ projectRoot: z.string() })
const problem = z.strictObject({ projectRoot: z.string(), message: z.string() })

/** A rule for one project, or for all that are registered. */
const wanted = z.strictObject({ rule, project: project.optional() })

const plan = z.strictObject({
  ...amount.shape,
  projects: z.array(prunedProject),
  /** When the oldest and the newest of them were last written to. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  inUse: amount.describe('Past the limit, but kept: an agent or an unfinished turn needs them.'),
  problems: z.array(problem),
})

/** The files that Chirality keeps on the disk. */
export const dataCalls = {
  use: query({
    about: 'Tells what each registered project takes on the disk, by kind, and how long raw logs are kept.',
    output: z.strictObject({
      rule,
      projects: z.array(
        z.strictObject({
          projectRoot: z.string(),
          name: z.string(),
          bytes: z.strictObject({
            events: z.number(),
            rawLogs: z.number(),
            turnTrees: z.number(),
            worktrees: z.number(),
            other: z.number(),
          }),
        }),
      ),
    }),
    run: async centre => ({ rule: readRawLogRule(centre.home), projects: await useOfProjects(centre) }),
  }),

  setRule: mutation({
    about: 'Sets how long raw logs are kept. Holds from the next hour on; `prune` applies it at once.',
    input: z.strictObject({ rule }),
    output: z.strictObject({ rule }),
    run: async ({ home }, { rule: wanted }) => {
      await writeRawLogRule(wanted, home)
      return { rule: wanted }
    },
  }),

  plan: query({
    about: 'Tells what `prune` would delete now. Deletes nothing.',
    input: wanted,
    output: plan,
    run: async (centre, input) => {
      const { roots, problems } = await readableProjects(centre, input.project)
      const { going, inUse } = await centre.host.rawLogsToPrune(roots, input.rule)
      const times = going.map(({ writtenAt }) => writtenAt).sort((a, b) => a - b)
      return {
        ...amountOf(going),
        projects: byProject(going),
        inUse: amountOf(inUse),
        problems,
        from: toTime(times[0]),
        to: toTime(times.at(-1)),
      }
    },
  }),

  prune: mutation({
    about: 'Deletes the raw logs that a rule does not keep. Event logs, conversations and snapshots stay.',
    input: wanted,
    output: z.strictObject({
      ...amount.shape,
      projects: z.array(prunedProject),
      problems: z.array(problem),
    }),
    run: async (centre, input) => {
      const { roots, problems } = await readableProjects(centre, input.project)
      const owned: string[] = []
      for (const root of roots)
        await centre.host.openProject(root).then(
          () => owned.push(root),
          (error: unknown) => problems.push({ projectRoot: root, message: messageOf(error) }),
        )
      const gone = await centre.host.pruneRawLogs(owned, input.rule)
      return { ...amountOf(gone), projects: byProject(gone), problems }
    },
  }),
}

interface Problem {
  projectRoot: string
  message: string
}

type ProjectUse = { projectRoot: string; name: string; bytes: DiskUse & { worktrees: number } }

async function useOfProjects({ host, projects }: Pick<Centre, 'host' | 'projects'>): Promise<ProjectUse[]> {
  const worktrees = await host.worktrees.list()
  const use: ProjectUse[] = []
  for (const { root, name } of await projects.list()) {
    const own = worktrees.filter(worktree => projectOf(worktree) === root && worktree.condition === 'ready')
    let bytes = 0
    for (const worktree of own) bytes += await diskUse(worktree)
    use.push({ projectRoot: root, name, bytes: { ...(await diskUseOf(root)), worktrees: bytes } })
  }
  return use
}

/** One whose folder was moved away must not keep the others from being pruned. */
async function readableProjects(
  { host, projects }: Pick<Centre, 'host' | 'projects'>,
  project: string | undefined,
): Promise<{ roots: string[]; problems: Problem[] }> {
  const wanted =
    project === undefined
      ? (await projects.list()).map(({ root }) => root)
      : [await projects.require(project)]
  const problems: Problem[] = []
  const roots: string[] = []
  for (const root of wanted)
    await host.rawLogsToPrune([root], { keep: 'forever' }).then(
      () => roots.push(root),
      (error: unknown) => problems.push({ projectRoot: root, message: messageOf(error) }),
    )
  return { roots, problems }
}

function amountOf(logs: readonly RawLog[]): { logs: number; bytes: number } {
  return { logs: logs.length, bytes: logs.reduce((sum, { bytes }) => sum + bytes, 0) }
}

function byProject(logs: readonly RawLog[]): { projectRoot: string; logs: number; bytes: number }[] {
  return [...new Set(logs.map(({ projectRoot }) => projectRoot))].map(projectRoot => ({
    projectRoot,
    ...amountOf(logs.filter(log => log.projectRoot === projectRoot)),
  }))
}

function toTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
