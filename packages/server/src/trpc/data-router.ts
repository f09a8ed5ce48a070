import { OneAfterTheOther } from '@chirality/disk'
import {
  type DiskUse,
  diskUseOf,
  type RawLog,
  type RawLogRule,
  readRawLogRule,
  writeRawLogRule,
} from '@chirality/sessions'
import { diskUse, projectOf } from '@chirality/workspaces'
import { CALLS } from '../contract/calls.ts'
import type { AppServices } from './context.ts'
import { ask, call, router } from './trpc.ts'

export const dataRouter = router({
  /** What each registered project takes on the disk, by kind, and how long raw logs are kept. */
  use: ask(CALLS.data.use).query(async ({ ctx }) => ({
    rule: readRawLogRule(ctx.facts.home),
    projects: await useOfProjects(ctx),
  })),

  /** Holds from the next hour on; `prune` applies it at once. */
  setRule: call(CALLS.data.setRule).mutation(async ({ ctx, input: { rule } }) => {
    await writeRawLogRule(rule, ctx.facts.home)
    return { rule }
  }),

  /** What `prune` would delete now. Deletes nothing. */
  plan: call(CALLS.data.plan).query(async ({ ctx, input: { rule, project } }) => {
    const { roots, problems } = await readableProjects(ctx, project)
    const { going, inUse } = await ctx.host.rawLogsToPrune(roots, rule)
    const times = going.map(({ writtenAt }) => writtenAt).sort((a, b) => a - b)
    return {
      ...{ ...amountOf(going), projects: byProject(going), inUse: amountOf(inUse), problems },
      from: toTime(times[0]),
      to: toTime(times.at(-1)),
    }
  }),

  /** Deletes the raw logs that a rule does not keep. Event logs, conversations and snapshots stay. */
  prune: call(CALLS.data.prune).mutation(async ({ ctx, input: { rule, project } }) => {
    const { roots, problems } = await readableProjects(ctx, project)
    const owned: string[] = []
    for (const root of roots)
      await ctx.host.openProject(root).then(
        () => owned.push(root),
        (error: unknown) => problems.push({ projectRoot: root, message: messageOf(error) }),
      )
    const gone = await ctx.host.pruneRawLogs(owned, rule)
    return { ...amountOf(gone), projects: byProject(gone), problems }
  }),
})

interface Problem {
  projectRoot: string
  message: string
}

type ProjectUse = { projectRoot: string; name: string; bytes: DiskUse & { worktrees: number } }

async function useOfProjects({ host, projects }: AppServices): Promise<ProjectUse[]> {
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
  { host, projects }: AppServices,
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

/** Applies the user's rule to the projects that this server has open, now and then: a size is of these together. */
export class RawLogKeeper {
  readonly #services: Pick<AppServices, 'host' | 'facts'>
  readonly #timer: NodeJS.Timeout
  readonly #passes = new OneAfterTheOther()

  constructor(services: Pick<AppServices, 'host' | 'facts'>, everyMs = HOUR_MS) {
    this.#services = services
    this.#timer = setInterval(() => void this.apply(), everyMs)
    this.#timer.unref()
  }

  /** One at a time. Never rejects: the next one tries again. */
  apply(): Promise<void> {
    return this.#passes.run(() => this.#apply())
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#passes.settled()
  }

  async #apply(): Promise<void> {
    const { host, facts } = this.#services
    const rule: RawLogRule = readRawLogRule(facts.home)
    if (rule.keep === 'forever') return
    await host.pruneRawLogs(host.projects(), rule).catch((error: unknown) => host.logFault(error))
  }
}

const HOUR_MS = 60 * 60 * 1000
