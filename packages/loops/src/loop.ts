import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { isCodedError } from '@chirality/core'
import { OneAfterTheOther } from '@chirality/disk'
import type { SessionHost } from '@chirality/sessions'
import { isAtRest } from './away-turn.ts'
import { endMarked, type RunningCommand } from './checks.ts'
import { isSetUpAwaited, notAllowed } from './commands.ts'
import { FinishedSessions } from './finished-sessions.ts'
import type { JournalEntry, LoopEndReason, LoopRunner, ParkedStart, Stamped, TaskStart } from './journal.ts'
import type { Journal } from './journal-file.ts'
import { LiveList, loopEnd, wasDoneBefore } from './live-list.ts'
import { LoopBranch } from './loop-branch.ts'
import {
  type AwayTurns,
  deadlineOf,
  isSuspended,
  type LEAVE,
  type LoopContext,
  limitReached,
  type TaskOutcome,
} from './loop-context.ts'
import { LoopKeeper, writeBudget, writeProgress } from './loop-keeper.ts'
import { newNames } from './loop-rules.ts'
import type { LoopSettings } from './loop-settings.ts'
import { applyEntry, type LoopState, notAllowedWords, type TaskState } from './loop-state.ts'
import type { LoopStore } from './loop-store.ts'
import { writeOwnLoop } from './own-loop.ts'
import { PlanWaits, waitUntil } from './plan-waits.ts'
import { isShared, whyNotBegin } from './proof/base-checks.ts'
import { reportText } from './report.ts'
import { spentOf } from './spent.ts'
import type { Task } from './task-list.ts'
import { TaskRun } from './task-run.ts'
import { warningsOf } from './warnings.ts'

export interface LoopOptions {
  host: SessionHost
  store: LoopStore
  journal: Journal
  state: LoopState
  /** Replaces the loop's settings. */
  settings?: LoopSettings
  /** Deadline of this run. */
  until?: Date
  by?: LoopRunner
  away?: AwayTurns
  onEntry?: (entry: Stamped, n: number) => void
}

/** A loop that this process runs. */
export class Loop {
  readonly state: LoopState
  /** The running set-up command or check of each task. */
  readonly running = new Map<string, RunningCommand>()
  readonly #options: LoopOptions
  readonly #keeper: LoopKeeper
  readonly #list: LiveList
  readonly #stop = new AbortController()
  readonly #merging = new OneAfterTheOther()
  readonly #planWaits: PlanWaits
  readonly #finished: FinishedSessions
  #timer: NodeJS.Timeout | undefined
  #wake: () => void = () => {}
  #hasEnded = false

  constructor(options: LoopOptions) {
    this.#options = options
    this.state = options.state
    // Every running command listens, and many tasks run at once.
    setMaxListeners(0, this.#stop.signal)
    this.#keeper = new LoopKeeper(options)
    this.#planWaits = new PlanWaits(this.#context())
    this.#finished = new FinishedSessions(options.host, options.state)
    this.#list = new LiveList(options.state, this.#keeper, change => {
      if (!this.#hasEnded) this.record(change)
    })
  }

  stop(): void {
    this.#stop.abort()
  }

  /**
   * Stops the work in this process without ending the loop, so that the next process continues. Checks are always
   * ended, agents only with `stop`.
   */
  suspend(agents: 'stop' | typeof LEAVE): void {
    // A loop that a person is stopping must not continue by itself.
    if (this.#stop.signal.aborted) return
    this.#stop.abort(agents)
  }

  /** Resumes a finished task with a note for the agent. */
  again(id: string, note: string): void {
    const task = this.state.tasks.get(id)
    const isReverted = task?.status === 'reverted'
    const fresh = isReverted ? { fresh: { ...newNames(this.state, id), base: this.state.head } } : {}
    // If nothing of the task was run, its current text in the list counts, possibly without the command for which it
    // was parked.
    const hasRun = task?.commands === undefined || task.iterations > 0
    const now = hasRun ? undefined : this.#list.tasks()?.find(one => one.id === id)
    this.record({ type: 'task:again', task: id, note, ...fresh, now })
    this.#wake()
  }

  /** Allows exactly these commands in addition. Tasks that waited for them continue. */
  allow(commands: readonly string[]): void {
    const { allowed, loopId, projectRoot: project } = this.state
    const more = [...new Set(commands)].filter(command => !allowed.has(command))
    if (more.length === 0) return
    const { store } = this.#options
    writeOwnLoop(store.home, loopId, { project, allowed: [...allowed, ...more] }, store.requireSeal())
    this.record({ type: 'commands:allowed', commands: more })
    this.#wake()
  }

  /** Changes the limits, also for running work. */
  change(settings: LoopSettings, until?: string | null): void {
    this.record({ type: 'loop:settings', settings, until })
    this.#setTimer()
    this.#wake()
  }

  record(...entries: JournalEntry[]): void {
    if (entries.length > 0) this.#apply(this.#options.journal.add(...entries))
  }

  #apply(entries: readonly Stamped[]): void {
    for (const stamped of entries) {
      applyEntry(this.state, stamped)
      this.#options.onEntry?.(stamped, this.state.entries)
    }
  }

  /** Works until no task is left, a limit is reached, or the loop is stopped. */
  async run(): Promise<NonNullable<LoopState['end']>> {
    const { host, away, settings, until } = this.#options
    this.#keeper.open()
    const stopFile = path.join(this.#keeper.folder, 'stop')
    rmSync(stopFile, { force: true })
    const { by = 'command' } = this.#options
    // The previous process ended while it waited for a limit of the plan.
    const waits = this.state.end === undefined ? this.state.waitUntil : undefined
    const afterKill = this.state.end === undefined
    this.record({
      type: 'run:start',
      run: randomUUID(),
      pid: process.pid,
      by,
      settings,
      until: until?.toISOString(),
    })
    const watch = setInterval(() => existsSync(stopFile) && this.stop(), STOP_POLL_MS)
    this.#setTimer()
    try {
      this.record(...(await this.#keeper.compareCopy({ afterKill })))
      await this.#integrate()
      if (waits !== undefined) await waitUntil(waits, this.#stop.signal)
      const cannot = await whyNotBegin(this.#context(), this.#list.tasks() ?? [])
      const end = cannot === undefined ? await this.#work() : { reason: 'failed' as const, why: cannot }
      this.record(isSuspended(this.#stop.signal) ? { type: 'run:left' } : { type: 'loop:end', ...end })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (!isSuspended(this.#stop.signal)) this.record({ type: 'loop:end', reason: 'failed', why })
      if (!isCodedError(error)) throw error
    } finally {
      clearInterval(watch)
      clearTimeout(this.#timer)
      rmSync(stopFile, { force: true })
      await this.#close()
    }
    // If this process is killed before, the next server does it.
    if (isAtRest(this.state)) await away?.end(this.state.loopId).catch(error => host.logFault(error))
    return this.state.end ?? { reason: 'stopped', why: 'The process that ran it ended.', at: '' }
  }

  /** Records outside changes of the files before the report is written. */
  async #close(): Promise<void> {
    for (const found of await this.#keeper.ownFilesAltered()) this.#options.journal.note(found)
    this.#apply(this.#options.journal.settle())
    const { host } = this.#options
    // A missing repository must not prevent the report.
    const moved = await this.#keeper.compareBranch(host).catch(error => host.logFault(error))
    this.record(...(moved ?? []), ...(await this.#keeper.compareCopy({})))
    this.#hasEnded = true
    const report = { tasks: this.#list.tasks(), warnings: warningsOf(this.state) }
    this.#keeper.put(reportText(this.state, report), 'report.md')
    this.#keeper.close()
    this.#options.journal.close()
  }

  /** True if the loop takes up no more work: it is being stopped, or its end is recorded. */
  get isEnding(): boolean {
    return this.#stop.signal.aborted || this.state.end !== undefined
  }

  /** Makes the worktree with the loop's branch if needed, and settles what a killed process left there. */
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
    const { branch } = await host.worktrees.get(id)
    if (branch !== this.state.branch) this.record({ type: 'loop:branch', branch })
    const merged = [...tasks.values()].filter(({ status }) => status === 'merged')
    this.#list.tick(merged.map(({ task }) => task.id))
    writeProgress(this.#context())
    writeBudget(this.#context())
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
      while (
        ending === undefined &&
        !this.#planWaits.isWaiting &&
        running.size < this.state.settings.parallel
      ) {
        const next = this.#next(tasks ?? [], running)
        if (next === undefined) break
        const run = this.#finished.settled().then(() => new TaskRun(this.#context(), next).run())
        const done = run.then(async outcome => {
          // The task counts as running while it waits for a limit of the plan.
          const end = await this.#after(outcome)
          // `??= await` would restore the value from before the wait.
          ending ??= end
          await this.#finished.close(next)
          running.delete(next.task.id)
        })
        running.set(next.task.id, done)
      }
      if (running.size === 0) return ending ?? loopEnd(this.state, tasks ?? [])
      const woken = new Promise<void>(resolve => {
        this.#wake = resolve
      })
      const { settings } = this.state
      await Promise.race([...running.values(), woken])
      // A person may have raised the limit meanwhile.
      if (ending?.reason === 'limit' && this.state.settings !== settings) ending = this.#reached()
    }
  }

  async #after(outcome: TaskOutcome): Promise<{ reason: LoopEndReason; why: string } | undefined> {
    if (outcome === 'over') return undefined
    if (outcome === 'stopped') return this.#reached() ?? { reason: 'stopped', why: 'It was stopped.' }
    if (outcome === 'limit')
      return this.#reached() ?? { reason: 'limit', why: 'A limit of the loop is reached.' }
    const why = await this.#planWaits.wait(outcome.rateLimit)
    return why === undefined ? undefined : { reason: 'rate-limit', why }
  }

  /** The next task: started ones first, then the first of the list whose dependencies are proved. */
  #next(tasks: readonly Task[], running: ReadonlyMap<string, unknown>): TaskState | undefined {
    const known = this.state.tasks
    for (const task of known.values())
      if (task.status === 'working' && !running.has(task.task.id) && !this.#parks(task.task)) return task
    const done = new Set(tasks.filter(task => wasDoneBefore(this.state, task)).map(({ id }) => id))
    const isProved = (id: string) => known.get(id)?.status === 'merged' || done.has(id)
    const parked: ParkedStart[] = []
    let next: Task | undefined
    for (const task of isSetUpAwaited(this.state) ? [] : tasks) {
      if (task.ticked || known.has(task.id) || !task.dependsOn.every(isProved)) continue
      const commands = notAllowed(this.state, task)
      const missing = this.#list.missing(task)
      if (commands.length + missing.length === 0) next = task
      else
        parked.push({ ...this.#start(task), commands, missing: missing.length === 0 ? undefined : missing })
      if (next !== undefined || commands.some(command => this.state.settings.setup.includes(command))) break
    }
    // One entry for all: a pull can bring thousands of tasks, and each entry waits for the disk.
    if (parked.length > 0) this.record({ type: 'tasks:parked', tasks: parked })
    if (next === undefined) return undefined
    this.record({ type: 'task:start', ...this.#start(next) })
    return known.get(next.id)
  }

  #start(task: Task): TaskStart {
    // A deep copy, because substrings would keep the whole list in memory with each task.
    return { task: structuredClone(task), ...newNames(this.state, task.id), base: this.state.head }
  }

  /** Parks a started task that has a command which is not allowed. True if it did. */
  #parks(task: Task): boolean {
    const commands = notAllowed(this.state, task)
    if (commands.length === 0) return false
    const why = notAllowedWords(commands, this.state.refused)
    this.record({ type: 'task:parked', task: task.id, kind: 'commands', why, commands })
    return true
  }

  #reached(): { reason: LoopEndReason; why: string } | undefined {
    const deadline = deadlineOf(this.state)
    if (deadline !== undefined && Date.now() >= deadline)
      return { reason: 'limit', why: 'The time of the loop is over.' }
    if (this.#stop.signal.aborted) return { reason: 'stopped', why: 'It was stopped.' }
    const why = limitReached(this.state, this.#rest())
    return why === undefined ? undefined : { reason: 'limit', why }
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
      usd: budget_usd && budget_usd - (spent.usd ?? 0),
      tokens: budget_tokens && budget_tokens - spent.tokens,
    }
  }

  #context(): LoopContext {
    return {
      host: this.#options.host,
      state: this.state,
      folder: this.#keeper.folder,
      seal: this.#options.store.requireSeal(),
      signal: this.#stop.signal,
      away: this.#options.away,
      running: this.running,
      names: task => newNames(this.state, task),
      record: (...entries) => this.record(...entries),
      put: (text, ...parts) => this.#keeper.put(text, ...parts),
      noteAltered: found => this.#options.journal.note(found),
      rest: () => this.#rest(),
      merging: work => this.#merging.run(work),
      ticked: id => this.#list.tick([id]),
      isShared: command => isShared(command, this.state.settings, this.#list.tasks() ?? []),
    }
  }
}

const STOP_POLL_MS = 200
/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2_147_483_647
