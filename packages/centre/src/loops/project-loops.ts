import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KeyedQueue } from '@chirality/disk'
import {
  type AwayTurns,
  type Loop,
  type LoopBook,
  type LoopState,
  loopError,
  requireAgain,
  requireAwaited,
  type Stamped,
} from '@chirality/loops'
import { findProjectOwner, type SessionHost } from '@chirality/sessions'
import { confine } from '@chirality/workspaces'
import type { z } from 'zod'
import type { ProjectRegistry } from '../projects/project-registry.ts'
import type {
  acceptance,
  goOn,
  LoopPlan,
  LoopSummary,
  LoopTaskDetails,
  newLoop,
  ShownLoop,
} from '../shapes/loops.ts'
import { endGroups } from './ended-groups.ts'
import { LoopBooks } from './loop-books.ts'
import { type LoopChange, loopEntries } from './loop-entries.ts'
import { allowCommands, planLoop } from './loop-plan.ts'
import { type Shown, shownLoop, summaryOf, taskDetails, untilOf, withLimits } from './shown-loop.ts'

export interface ProjectLoopsOptions {
  host: SessionHost
  projects: Pick<ProjectRegistry, 'list' | 'require'>
  /** Works on the files in these folders: refused if an agent is at work there, and a turn that begins meanwhile waits. */
  atRest: <T>(folders: string[], work: () => Promise<T>) => Promise<T>
  /** The machines of the fleet, if this is a hub. */
  away?: AwayTurns | undefined
  onFault: (error: unknown) => void
}

export interface OwnRun {
  loopId?: string
  /** The commands that a person allowed for it. */
  allowed?: readonly string[]
}

interface Running {
  loop: Loop
  root: string
  done: Promise<void>
}

/**
 * The loops of the registered projects, and those of them that this server runs. Their sessions are sessions of the
 * same host as all others. A loop that was cut off with the server goes on when the next one starts.
 */
export class ProjectLoops {
  readonly #options: ProjectLoopsOptions
  readonly #books: LoopBooks
  readonly #running = new Map<string, Running>()
  /** The work of each project, one after the other: two starts on one list, or a resume and a merge, must not meet. */
  readonly #turns = new KeyedQueue()
  readonly #listeners = new Set<(change: LoopChange) => void>()
  #continuing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: ProjectLoopsOptions) {
    this.#options = options
    this.#books = new LoopBooks(options.host.home, options.onFault)
  }

  get #away(): Pick<ProjectLoopsOptions, 'away'> {
    const { away } = this.#options
    return away === undefined ? {} : { away }
  }

  onChange(listener: (change: LoopChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Loops, newest first, of all registered projects if none is named. */
  async list(project?: string): Promise<LoopSummary[]> {
    const { projects } = this.#options
    const roots =
      project === undefined
        ? (await projects.list()).map(({ root }) => root)
        : [await projects.require(project)]
    const found = await Promise.all(roots.map(root => this.#in(root)))
    return found.flat().sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
  }

  #in(root: string): Promise<LoopSummary[]> {
    return this.#books.inProject(root, [], async book =>
      Promise.all((await book.list()).map(async state => summaryOf(await this.#shown(state, book)))),
    )
  }

  async summary(loopId: string): Promise<LoopSummary> {
    const { state, book } = await this.#find(loopId)
    return summaryOf(await this.#shown(state, book))
  }

  /** The loop of the user on a list that is not over. */
  async openOn(project: string, list: string): Promise<LoopSummary | undefined> {
    const root = await this.#options.projects.require(project)
    const book = this.#books.require(root)
    const open = await book.openOn(await confine(root, list))
    return open && summaryOf(await this.#shown(open, book))
  }

  async get(loopId: string): Promise<ShownLoop> {
    const { state, book } = await this.#find(loopId)
    const worktree = await this.#options.host.worktrees.find(state.worktreeId)
    const command = this.#running.get(loopId)?.loop.running.get(state.worktreeId)
    return shownLoop({ ...(await this.#shown(state, book)), command }, worktree?.branch ?? null)
  }

  async task(loopId: string, taskId: string): Promise<LoopTaskDetails> {
    const { state, book } = await this.#find(loopId)
    const task = state.tasks.get(taskId)
    if (task === undefined)
      throw loopError('loop-missing', `The loop ${loopId} has not begun a task ${taskId}.`)
    const command = this.#running.get(loopId)?.loop.running.get(taskId)
    return taskDetails(task, book.folder(loopId), command)
  }

  async report(loopId: string): Promise<string> {
    const { state, book } = await this.#find(loopId)
    return book.report(state)
  }

  async plan(project: string, list: string): Promise<LoopPlan> {
    const root = await this.#options.projects.require(project)
    const { host } = this.#options
    return planLoop({ host, book: this.#books.require(root), root, list, file: await confine(root, list) })
  }

  /** `own`: what a schedule says of its run. */
  async start(input: z.infer<typeof newLoop>, own: OwnRun = {}): Promise<LoopSummary> {
    const { project, list, limits = {}, allowDirty, commands } = input
    const root = await this.#options.projects.require(project)
    const file = await confine(root, list)
    const place = { host: this.#options.host, root, list }
    const loop = await this.#turns.run(root, async () => {
      const book = this.#books.require(root)
      const opened = await book.start(this.#options.host, file, {
        settings: withLimits({}, limits),
        by: 'server',
        ...untilOf(limits),
        ...this.#away,
        onEntry: (...change) => this.#changed(opened.state.loopId, ...change),
        ...(allowDirty === undefined ? {} : { allowDirty }),
        ...own,
        ...(commands === undefined ? {} : { check: parsed => allowCommands(place, parsed, commands) }),
      })
      this.#run(root, opened)
      return opened
    })
    return this.summary(loop.state.loopId)
  }

  /** Goes on with it; puts a task back; sets limits. Each also while it runs. */
  async resume(
    loopId: string,
    { limits, again, allow, asFound }: z.infer<typeof goOn>,
    { allowed }: OwnRun = {},
  ): Promise<LoopSummary> {
    const { root } = await this.#find(loopId)
    await this.#turns.run(root, async () => {
      await this.#whileEnding(loopId)
      const running = this.#running.get(loopId)
      if (running === undefined) {
        const { state, book } = await this.#find(loopId)
        requireAwaited(state, allow ?? [])
        const opened = await book.resume(this.#options.host, loopId, {
          settings: withLimits(state.settings, limits ?? {}),
          by: 'server',
          ...untilOf(limits),
          ...this.#away,
          allow: [...(allow ?? []), ...(allowed ?? [])],
          onEntry: (...change) => this.#changed(loopId, ...change),
          ...(again === undefined ? {} : { again }),
          ...(asFound === undefined ? {} : { asFound }),
        })
        this.#run(root, opened)
        return
      }
      const { loop } = running
      if (again !== undefined) requireAgain(loop.state, again.task)
      requireAwaited(loop.state, allow ?? [])
      const until = untilOf(limits).until?.toISOString() ?? limits?.until
      if (limits !== undefined) loop.change(withLimits(loop.state.settings, limits), until)
      loop.allow([...(allow ?? []), ...(allowed ?? [])])
      if (again !== undefined) loop.again(again.task, again.note)
    })
    return this.summary(loopId)
  }

  /** Resolves when nothing of it runs any more. One that was cut off is not gone on with after this. */
  async stop(loopId: string): Promise<LoopSummary> {
    const { root } = await this.#find(loopId)
    const stop = () => this.#running.get(loopId)?.loop.stop()
    stop()
    // One that is about to go on is running when its turn is over.
    await this.#turns.run(root, async () => (this.#running.has(loopId) ? stop() : this.#end(loopId)))
    await this.#running.get(loopId)?.done
    return this.summary(loopId)
  }

  /** Says that a loop that does not run here is over, or asks the process that runs it to stop. */
  async #end(loopId: string): Promise<void> {
    const { state, book } = await this.#find(loopId)
    if (state.end !== undefined) return
    if ((await this.#runs(state)) === 'elsewhere') await book.requestStop(loopId)
    else await book.end(state, 'stopped', 'It was stopped.')
    this.#changed(loopId)
  }

  async accept(loopId: string, task: string | undefined): Promise<z.infer<typeof acceptance>> {
    const { root } = await this.#find(loopId)
    const accepted = await this.#turns.run(root, () =>
      this.#atRest(loopId, async ({ state, book }) => {
        const { commit, tasks } = await book.accept(this.#options.host, loopId, task)
        return { commit, into: state.baseBranch ?? '', tasks: tasks.map(one => one.task.id) }
      }),
    )
    this.#changed(loopId)
    return accepted
  }

  async revert(loopId: string, task: string): Promise<LoopSummary> {
    const { root } = await this.#find(loopId)
    await this.#turns.run(root, () =>
      this.#atRest(loopId, ({ book }) => book.revert(this.#options.host, loopId, task)),
    )
    this.#changed(loopId)
    return this.summary(loopId)
  }

  /** The journal after its `after`th entry; then live until the loop does not run any more. */
  async *entries(loopId: string, after: number, signal: AbortSignal): AsyncGenerator<[number, Stamped][]> {
    const { book } = await this.#find(loopId)
    yield* loopEntries({
      loopId,
      after,
      signal,
      past: () => book.entries(loopId),
      isRunning: () => this.#running.has(loopId),
      onChange: listener => this.onChange(listener),
    })
  }

  /** Whether a loop that runs here has it at work, and how long a request in it waits for an answer. */
  ownerOf(sessionId: string): { loopId: string; answerMinutes: number } | undefined {
    for (const [loopId, { loop }] of this.#running)
      for (const task of loop.state.tasks.values())
        if (task.sessionId === sessionId && task.status === 'working')
          return { loopId, answerMinutes: loop.state.settings.answer_minutes }
    return undefined
  }

  /** Goes on with what the server before did not finish. */
  continueUnfinished(): Promise<void> {
    this.#continuing = this.#continueAll()
    return this.#continuing
  }

  async #continueAll(): Promise<void> {
    for (const { root } of await this.#options.projects.list()) {
      for (const { loopId, by, end } of await this.#books.list(root)) {
        const goesOn = by === 'server' && end === undefined
        const work = () => (goesOn ? this.#continue(root, loopId) : this.#settle(root, loopId))
        await this.#turns.run(root, work).catch(this.#options.onFault)
      }
    }
    await endGroups(this.#options, this.#books, id => this.#running.has(id)).catch(this.#options.onFault)
  }

  /** A revert that the server before made, and was killed before it said so. */
  async #settle(root: string, loopId: string): Promise<void> {
    const book = this.#books.require(root)
    const state = await book.find(loopId)
    if (this.#isClosed || this.#running.has(loopId) || state === undefined) return
    if (state.isForeign || state.broken.length > 0) return
    if (await book.settle(this.#options.host, state)) this.#changed(loopId)
  }

  async #continue(root: string, loopId: string): Promise<void> {
    if (this.#isClosed || this.#running.has(loopId)) return
    const book = this.#books.require(root)
    const state = await book.find(loopId)
    // Stopped in the meantime, or nothing that can be gone on with.
    if (state === undefined || state.end !== undefined) return
    if (state.idleRuns >= MAX_IDLE_RUNS) {
      const why = `The server ended ${state.idleRuns} times as soon as it went on with this loop. Resume it to try again.`
      await book.end(state, 'failed', why)
      return this.#changed(loopId)
    }
    // Another process may have the project: `chirality loop resume` or a later server goes on with it.
    if ((await findProjectOwner(root)) !== undefined && !this.#options.host.projects().includes(root)) return
    const opened = await book.resume(this.#options.host, loopId, {
      by: 'server',
      onEntry: (...change) => this.#changed(loopId, ...change),
      ...this.#away,
      ...(state.until === undefined ? {} : { until: new Date(state.until) }),
    })
    this.#run(root, opened)
  }

  /** Before a project is closed: its loops are stopped, and can be resumed. */
  async closeProject(root: string): Promise<void> {
    const own = [...this.#running.values()].filter(running => running.root === root)
    for (const { loop } of own) loop.stop()
    await Promise.all(own.map(({ done }) => done))
  }

  /** Ends all checks at once, and with `stop` the turns of agents. The next server goes on with the loops. */
  async close(agents: 'stop' | 'leave'): Promise<void> {
    this.#isClosed = true
    const suspend = () => {
      for (const { loop } of this.#running.values()) loop.suspend(agents)
    }
    suspend()
    await this.#continuing
    suspend()
    const over = Promise.all([...this.#running.values()].map(({ done }) => done))
    const late = new AbortController()
    // What does not end by itself is ended by the host after this.
    await Promise.race([over, sleep(CLOSE_MS, undefined, { signal: late.signal }).catch(() => {})])
    late.abort()
  }

  #run(root: string, loop: Loop): void {
    const { loopId } = loop.state
    const done = loop
      .run()
      .then(() => {}, this.#options.onFault)
      .finally(() => {
        this.#running.delete(loopId)
        this.#changed(loopId)
      })
    this.#running.set(loopId, { loop, root, done })
    this.#changed(loopId)
    if (this.#isClosed) loop.suspend('stop')
  }

  async #find(loopId: string): Promise<{ state: LoopState; book: LoopBook; root: string }> {
    const running = this.#running.get(loopId)
    if (running !== undefined) {
      await this.#options.projects.require(running.root)
      return { state: running.loop.state, book: this.#books.require(running.root), root: running.root }
    }
    for (const { root } of await this.#options.projects.list()) {
      const state = await this.#books.inProject(root, undefined, book => book.find(loopId))
      if (state !== undefined) return { state, book: this.#books.require(root), root }
    }
    throw loopError('loop-missing', `There is no loop ${loopId} in your projects.`)
  }

  /** In the project's folder and the loop's own, whose files change with their branches. */
  async #atRest<T>(
    loopId: string,
    work: (found: { state: LoopState; book: LoopBook }) => Promise<T>,
  ): Promise<T> {
    await this.#whileEnding(loopId)
    const found = await this.#find(loopId)
    if ((await this.#runs(found.state)) !== 'no')
      throw loopError('loop-running', `The loop ${loopId} runs. Stop it, or wait until it has ended.`)
    const worktree = await this.#options.host.worktrees.find(found.state.worktreeId)
    const own = worktree === undefined ? [] : [path.join(worktree.folder, worktree.prefix)]
    return this.#options.atRest([found.root, ...own], () => work(found))
  }

  /** Waits for a run that is about to be over: what it is asked now would be lost. */
  async #whileEnding(loopId: string): Promise<void> {
    const running = this.#running.get(loopId)
    if (running?.loop.isEnding) await running.done
  }

  async #shown(state: LoopState, book: LoopBook): Promise<Shown> {
    const { host } = this.#options
    const live = (id: string) => {
      const status = host.openSession(id)?.status
      return status && { usd: status.costUsd, isEstimate: status.costIsEstimate, tokens: status.tokens }
    }
    const current = this.#running.get(state.loopId)?.loop.state ?? state
    return { state: current, book, runs: await this.#runs(state), live }
  }

  async #runs({ loopId, end, projectRoot, pid }: LoopState): Promise<LoopSummary['runs']> {
    if (this.#running.has(loopId)) return 'here'
    if (end !== undefined || pid === process.pid) return 'no'
    const owner = await findProjectOwner(projectRoot).catch(() => undefined)
    return owner?.pid === pid ? 'elsewhere' : 'no'
  }

  #changed(loopId: string, entry?: Stamped, n?: number): void {
    const change = entry === undefined || n === undefined ? { loopId } : { loopId, entry, n }
    for (const listener of [...this.#listeners]) listener(change)
  }
}

const MAX_IDLE_RUNS = 3
const CLOSE_MS = 20_000
