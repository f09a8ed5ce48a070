import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isCodedError } from '@chirality/core'
import type { SessionHost } from '@chirality/sessions'
import { isAtRest } from './away-turn.ts'
import { endMarked, type RunningCommand } from './checks.ts'
import { isSetUpAwaited, notAllowed } from './commands.ts'
import { replaceFile } from './files.ts'
import {
  Journal,
  type JournalEntry,
  type LoopEndReason,
  type LoopRunner,
  type ParkedStart,
  type Stamped,
  type TaskStart,
} from './journal.ts'
import { LiveList } from './live-list.ts'
import { LoopBranch } from './loop-branch.ts'
import { type AwayTurns, deadlineOf, type LEAVE, type LoopContext, type TaskOutcome } from './loop-context.ts'
import { writeBudget, writeProgress } from './loop-files.ts'
import type { LoopSettings } from './loop-settings.ts'
import { applyEntry, type LoopState, type TaskState } from './loop-state.ts'
import { notAllowedWords } from './not-allowed-words.ts'
import { writeOwnLoop } from './own-loop.ts'
import { isAwaited, NO_TIME, noMoreWaits } from './plan-limit.ts'
import { reportText } from './report.ts'
import { spentOf } from './spent.ts'
import type { Task } from './task-list.ts'
import { TaskRun } from './task-run.ts'

export interface LoopOptions {
  host: SessionHost
  /** `.chirality/loops/<id>` of the project. */
  folder: string
  state: LoopState
  /** In the place of those that the loop has had so far. */
  settings?: LoopSettings
  /** Ends this run by this time. */
  until?: Date
  by?: LoopRunner
  away?: AwayTurns
  onEntry?: (entry: Stamped) => void
}

/** A loop that this process runs. */
export class Loop {
  readonly state: LoopState
  /** By task: the set-up command or check that runs now. */
  readonly running = new Map<string, RunningCommand>()
  readonly #options: LoopOptions
  readonly #journal: Journal
  readonly #list: LiveList
  readonly #stop = new AbortController()
  #merging: Promise<unknown> = Promise.resolve()
  #isSuspended = false
  /** How many tasks wait for the reset of a limit of the plan: no other is started. */
  #waiting = 0
  #timer: NodeJS.Timeout | undefined
  #wake: () => void = () => {}
  #hasEnded = false

  constructor(options: LoopOptions) {
    this.#options = options
    this.state = options.state
    this.#journal = new Journal(options.folder)
    this.#list = new LiveList(options.state.list, options.folder, change => {
      if (!this.#hasEnded) this.record(change)
    })
  }

  stop(): void {
    this.#stop.abort()
  }

  /**
   * Ends the work in this process, and leaves the loop as it is: the next one goes on with it. Checks are ended in any
   * case, agents with `stop`.
   */
  suspend(agents: 'stop' | typeof LEAVE): void {
    // A loop that a person is stopping must not go on by itself.
    if (this.#stop.signal.aborted) return
    this.#isSuspended = true
    this.#stop.abort(agents)
  }

  /** Puts a task that is over back, with words for its agent. */
  again(id: string, note: string): void {
    const task = this.state.tasks.get(id)
    const isReverted = task?.status === 'reverted'
    const fresh = isReverted ? { fresh: { ...this.#names(id), base: this.state.head } } : {}
    // If nothing of it has run, what its list says now counts, perhaps without the command that it was parked for.
    const hasRun = task?.commands === undefined || task.iterations > 0
    const now = hasRun ? undefined : this.#list.tasks()?.find(one => one.id === id)
    this.record({ type: 'task:again', task: id, note, ...fresh, ...(now === undefined ? {} : { now }) })
    this.#wake()
  }

  /** Commands that it may run from now on, exactly these. Tasks that waited for them go on. */
  allow(commands: readonly string[]): void {
    const { allowed, loopId, projectRoot: project } = this.state
    const more = [...new Set(commands)].filter(command => !allowed.has(command))
    if (more.length === 0) return
    writeOwnLoop(this.#options.host.home, loopId, { project, allowed: [...allowed, ...more] })
    this.record({ type: 'commands:allowed', commands: more })
    this.#wake()
  }

  /** New limits, also for what runs. */
  change(settings: LoopSettings, until?: string | null): void {
    this.record({ type: 'loop:settings', settings, ...(until === undefined ? {} : { until }) })
    this.#setTimer()
    this.#wake()
  }

  record(...entries: JournalEntry[]): void {
    for (const stamped of this.#journal.add(...entries)) {
      applyEntry(this.state, stamped)
      this.#options.onEntry?.(stamped)
    }
  }

  /** Works until nothing is left that could be worked on, a limit is reached, or it is stopped. */
  async run(): Promise<NonNullable<LoopState['end']>> {
    const { host, away, folder, settings, until } = this.#options
    for (const name of ['prompts', 'outputs', 'receipts'])
      mkdirSync(path.join(folder, name), { recursive: true, mode: 0o700 })
    const stopFile = path.join(folder, 'stop')
    rmSync(stopFile, { force: true })
    const { by = 'command' } = this.#options
    // The process before was ended while it waited for a limit of the plan.
    const waits = this.state.end === undefined ? this.state.waitUntil : undefined
    this.record({
      type: 'run:start',
      run: randomUUID(),
      pid: process.pid,
      by,
      ...(settings ? { settings } : {}),
      ...(until ? { until: until.toISOString() } : {}),
    })
    const watch = setInterval(() => existsSync(stopFile) && this.stop(), STOP_POLL_MS)
    this.#setTimer()
    try {
      await this.#integrate()
      if (waits !== undefined) await this.#waitUntil(waits)
      const end = await this.#work()
      this.record(this.#isSuspended ? { type: 'run:left' } : { type: 'loop:end', ...end })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (!this.#isSuspended) this.record({ type: 'loop:end', reason: 'failed', why })
      if (!isCodedError(error)) throw error
    } finally {
      clearInterval(watch)
      clearTimeout(this.#timer)
      rmSync(stopFile, { force: true })
      this.#hasEnded = true
      replaceFile(path.join(folder, 'report.md'), reportText(this.state, this.#list.tasks(), folder))
      this.#journal.close()
    }
    // If this process is killed before, the next server does it.
    if (isAtRest(this.state)) await away?.end(this.state.loopId).catch(error => host.logFault(error))
    return this.state.end ?? { reason: 'stopped', why: 'The process that ran it ended.', at: '' }
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The worktree with the loop's branch, made if a killed process did not get to it. */
  async #integrate(): Promise<void> {
    const { host } = this.#options
    const { worktreeId: id, projectRoot, base, list, tasks } = this.state
    if ((await host.worktrees.find(id)) === undefined)
      await host.worktrees.make({
        projectRoot,
        title: `loop ${path.basename(list, path.extname(list))}`,
        base,
        id,
      })
    await endMarked(id)
    await (await LoopBranch.open(host, this.state)).settle(entry => this.record(entry))
    const merged = [...tasks.values()].filter(({ status }) => status === 'merged')
    this.#list.tick(merged.map(({ task }) => task.id))
    writeProgress(this.state, this.#options.folder)
    writeBudget(this.state, this.#options.folder)
    for (const { worktreeId } of merged)
      if ((await host.worktrees.find(worktreeId))?.state === 'ready') await host.worktrees.remove(worktreeId)
  }

  async #work(): Promise<{ reason: LoopEndReason; why: string }> {
    const running = new Map<string, Promise<void>>()
    let ending: { reason: LoopEndReason; why: string } | undefined
    for (;;) {
      const tasks = this.#list.tasks()
      if (tasks === undefined)
        ending ??= {
          reason: 'list-missing',
          why: `${this.state.list} is gone or cannot be read. Put it back, then resume.`,
        }
      ending ??= this.#reached()
      while (ending === undefined && this.#waiting === 0 && running.size < this.state.settings.parallel) {
        const next = this.#next(tasks ?? [], running)
        if (next === undefined) break
        const run = this.#freeing.then(() => new TaskRun(this.#context(), next).run())
        const done = run.then(async outcome => {
          // It counts as running while a limit of the plan is waited for.
          const end = await this.#after(outcome)
          // Not `??= await`: that would put back what it was before the wait.
          ending ??= end
          await this.#letGo(next)
          running.delete(next.task.id)
        })
        running.set(next.task.id, done)
      }
      if (running.size === 0) return ending ?? this.#left(tasks ?? [])
      const woken = new Promise<void>(resolve => {
        this.#wake = resolve
      })
      const { settings } = this.state
      await Promise.race([...running.values(), woken])
      // More of what had run out may have been given in the meantime.
      if (ending?.reason === 'limit' && this.state.settings !== settings) ending = this.#reached()
    }
  }

  /** Frees the sessions of tasks that are over. One that somebody looks at is asked for again after the next task. */
  #letGo({ sessionId, handed = [] }: TaskState): Promise<void> {
    for (const id of [sessionId, ...handed.map(before => before.sessionId)]) this.#over.add(id)
    this.#freeing = this.#freeing.then(async () => {
      for (const task of this.state.tasks.values())
        if (task.status === 'working') this.#over.delete(task.sessionId)
      for (const id of this.#over)
        if (await this.#options.host.letGo(id).catch(() => true)) this.#over.delete(id)
    })
    return this.#freeing
  }
  readonly #over = new Set<string>()
  /** No task begins meanwhile: it could be in a session that is about to be closed. */
  #freeing: Promise<void> = Promise.resolve()

  async #after(outcome: TaskOutcome): Promise<{ reason: LoopEndReason; why: string } | undefined> {
    if (outcome === 'over') return undefined
    if (outcome === 'stopped') return this.#reached() ?? { reason: 'stopped', why: 'It was stopped.' }
    if (outcome === 'limit')
      return this.#reached() ?? { reason: 'limit', why: 'A limit of the loop is reached.' }
    const { rateLimit: until } = outcome
    const { waits, settings } = this.state
    const why = `The limit of the plan is reached${until === undefined ? '' : `, until ${until}`}.`
    const isNew = until === undefined || !isAwaited(this.state, until)
    if (until === undefined || (isNew && waits >= settings.wait_for_limits))
      return {
        reason: 'rate-limit',
        why: `${why} ${until === undefined ? NO_TIME : noMoreWaits(this.state)}`,
      }
    if (isNew) this.record({ type: 'loop:wait', until, why })
    this.#waiting += 1
    await this.#waitUntil(until)
    this.#waiting -= 1
    return undefined
  }

  async #waitUntil(until: string): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted && Date.now() < Date.parse(until)) {
      const ms = Math.min(Date.parse(until) - Date.now(), 60_000)
      await sleep(Math.max(ms, 1), undefined, { signal }).catch(() => {})
    }
  }

  /** Begun ones first, then the first of the list whose dependencies are proved. */
  #next(tasks: readonly Task[], running: ReadonlyMap<string, unknown>): TaskState | undefined {
    const known = this.state.tasks
    for (const task of known.values())
      if (task.status === 'working' && !running.has(task.task.id) && !this.#parks(task.task)) return task
    const ticked = new Set(tasks.filter(task => task.ticked).map(({ id }) => id))
    const isProved = (id: string) => known.get(id)?.status === 'merged' || ticked.has(id)
    const parked: ParkedStart[] = []
    let next: Task | undefined
    for (const task of isSetUpAwaited(this.state) ? [] : tasks) {
      if (task.ticked || known.has(task.id) || !task.dependsOn.every(isProved)) continue
      const commands = notAllowed(this.state, task)
      if (commands.length === 0) next = task
      else parked.push({ ...this.#start(task), commands })
      if (next !== undefined || commands.some(command => this.state.settings.setup.includes(command))) break
    }
    // At once: a pull can bring thousands of them, and each record waits for the disk.
    if (parked.length > 0) this.record({ type: 'tasks:parked', tasks: parked })
    if (next === undefined) return undefined
    this.record({ type: 'task:start', ...this.#start(next) })
    return known.get(next.id)
  }

  #start(task: Task): TaskStart {
    // A copy: its texts are pieces of the whole list, which would be kept with each task.
    return { task: structuredClone(task), ...this.#names(task.id), base: this.state.head }
  }

  /** Whether a begun task runs a command that nobody allowed: then it is parked. */
  #parks(task: Task): boolean {
    const commands = notAllowed(this.state, task)
    if (commands.length === 0) return false
    const why = notAllowedWords(commands, this.state.refused)
    this.record({ type: 'task:parked', task: task.id, kind: 'commands', why, commands })
    return true
  }

  #names(id: string): { sessionId: string; worktreeId: string } {
    const worktreeId = `${this.state.loopId}-${id}`.slice(0, 55).replace(/-+$/, '')
    return { sessionId: randomUUID(), worktreeId: `${worktreeId}-${randomUUID().slice(0, 6)}` }
  }

  #reached(): { reason: LoopEndReason; why: string } | undefined {
    const { settings, iterations, failures } = this.state
    const deadline = deadlineOf(this.state)
    if (deadline !== undefined && Date.now() >= deadline)
      return { reason: 'limit', why: 'The time of the loop is over.' }
    if (this.#stop.signal.aborted) return { reason: 'stopped', why: 'It was stopped.' }
    const { usd, tokens } = this.#rest()
    if (usd !== undefined && usd <= 0)
      return { reason: 'limit', why: `The budget of $${settings.budget_usd} is used up.` }
    if (tokens !== undefined && tokens <= 0)
      return { reason: 'limit', why: `The budget of ${settings.budget_tokens} tokens is used up.` }
    if (settings.max_iterations !== undefined && iterations >= settings.max_iterations && !this.#isProving())
      return { reason: 'limit', why: `${iterations} iterations are made, and no more are allowed.` }
    if (failures >= settings.max_failures)
      return { reason: 'limit', why: `${failures} tasks in a row could not be proved.` }
    return undefined
  }

  /** A task that is past its last turn may still be proved and merged. */
  #isProving(): boolean {
    return [...this.state.tasks.values()].some(
      ({ status, stage }) => status === 'working' && stage.at !== 'rest',
    )
  }

  #setTimer(): void {
    clearTimeout(this.#timer)
    const limit = deadlineOf(this.state)
    if (limit !== undefined)
      this.#timer = setTimeout(
        () => (Date.now() >= limit ? this.stop() : this.#setTimer()),
        Math.min(Math.max(0, limit - Date.now()), MAX_TIMER_MS),
      )
  }

  #rest(): { usd?: number; tokens?: number } {
    const { budget_usd, budget_tokens } = this.state.settings
    const spent = spentOf(this.state, id => {
      const status = this.#options.host.openSession(id)?.status
      return status && { usd: status.costUsd, isEstimate: status.costIsEstimate, tokens: status.tokens }
    })
    return {
      ...(budget_usd === undefined ? {} : { usd: budget_usd - (spent.usd ?? 0) }),
      ...(budget_tokens === undefined ? {} : { tokens: budget_tokens - spent.tokens }),
    }
  }

  #left(tasks: readonly Task[]): { reason: LoopEndReason; why: string } {
    const open = tasks.filter(({ id, ticked }) => !ticked && this.state.tasks.get(id)?.status !== 'merged')
    if (open.length === 0) return { reason: 'done', why: 'Every task is proved.' }
    return { reason: 'blocked', why: `${open.length} of ${tasks.length} tasks are not proved.` }
  }

  #context(): LoopContext {
    return {
      ...{
        host: this.#options.host,
        state: this.state,
        folder: this.#options.folder,
        signal: this.#stop.signal,
        away: this.#options.away,
        running: this.running,
      },
      names: task => this.#names(task),
      record: (...entries) => this.record(...entries),
      rest: () => this.#rest(),
      merging: work => {
        const next = this.#merging.then(work, work)
        this.#merging = next.catch(() => {})
        return next
      },
      ticked: id => this.#list.tick([id]),
    }
  }
}

const STOP_POLL_MS = 200
/** A longer timer would be over at once. */
const MAX_TIMER_MS = 2_147_483_647
