import { OneAfterTheOther } from '@chirality/disk'
import {
  dueWork,
  type LoopEndReason,
  loopError,
  type NewSchedule,
  nextTime,
  nextTimes,
  type RunOutcome,
  type RunReceipt,
  type Schedule,
  ScheduleBook,
  type ScheduleRun,
  type ScheduleState,
  timesInWords,
} from '@chirality/loops'
import {
  findProjectOwner,
  lockProject,
  type ProjectLock,
  ProjectLockedError,
  type SessionHost,
} from '@chirality/sessions'
import type { ProjectRegistry } from '../projects/project-registry.ts'
import type { ShownSchedule } from '../shapes/schedules.ts'
import { removeOldWorktrees } from './old-worktrees.ts'
import type { ProjectLoops } from './project-loops.ts'
import { promptTurn } from './prompt-turn.ts'
import { limitsOfPlan, withCommands } from './scheduled-commands.ts'

export interface ProjectSchedulesOptions {
  home: string
  /** Told to other servers of the user. */
  address: string
  host: SessionHost
  loops: ProjectLoops
  projects: Pick<ProjectRegistry, 'require'>
  onFault: (error: unknown) => void
  /** Only for tests. */
  now?: () => number
}

/** A run of it began or is over. */
export interface ScheduleChange {
  schedule: Schedule
  run: ScheduleRun
}

/**
 * The schedules of the user, and their runs. Of several servers one runs them: the others only show and change them.
 * A run is claimed in the journal, with the ids of all that it will make, before it is started: after a crash the next
 * server finds what there is of it and goes on, and starts nothing twice.
 */
export class ProjectSchedules {
  readonly #options: ProjectSchedulesOptions
  readonly #book: ScheduleBook
  readonly #running = new Map<string, { run: ScheduleRun; schedule: Schedule }>()
  readonly #listeners = new Set<(change: ScheduleChange) => void>()
  readonly #listListeners = new Set<() => void>()
  readonly #now: () => number
  #lock: ProjectLock | undefined
  #timer: NodeJS.Timeout | undefined
  #ticking: Promise<void> | undefined
  readonly #tidying = new OneAfterTheOther()
  #isStarted = false
  #isClosed = false

  constructor(options: ProjectSchedulesOptions) {
    this.#options = options
    this.#book = new ScheduleBook(options.home)
    this.#now = options.now ?? Date.now
  }

  /** Something in the list is not as it was. What another process changed is found only by asking. */
  onListChange(listener: () => void): () => void {
    this.#listListeners.add(listener)
    return () => this.#listListeners.delete(listener)
  }

  onChange(listener: (change: ScheduleChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** After the loops of the server before went on. */
  start(): void {
    this.#isStarted = true
    void this.tick()
  }

  list(): ShownSchedule[] {
    return this.#book.list().map(state => this.#shown(state))
  }

  get(id: string): ShownSchedule & Pick<ScheduleState, 'runs' | 'earlier'> {
    const state = this.#book.get(id)
    return { ...this.#shown(state), runs: state.runs, earlier: state.earlier }
  }

  async add(input: NewSchedule): Promise<ShownSchedule> {
    const project = await this.#options.projects.require(input.project)
    const what = await withCommands(project, input.what)
    return this.#changedTo(this.#book.add({ ...input, project, what }, this.#now()))
  }

  async change(id: string, input: Omit<NewSchedule, 'project'>): Promise<ShownSchedule> {
    const { schedule } = this.#book.get(id)
    const root = await this.#options.projects.require(schedule.project)
    const what = await withCommands(root, input.what, schedule.what)
    return this.#changedTo(this.#book.change(schedule.id, { ...input, what }, this.#now()))
  }

  pause(id: string): ShownSchedule {
    return this.#changedTo(this.#book.pause(this.#book.get(id).schedule.id))
  }

  resume(id: string): ShownSchedule {
    return this.#changedTo(this.#book.resume(this.#book.get(id).schedule.id, this.#now()))
  }

  remove(id: string): void {
    this.#book.remove(this.#book.get(id).schedule.id)
    this.#listChanged()
  }

  /** Answers when the run is claimed, if this server runs the schedules. */
  async run(id: string): Promise<ShownSchedule> {
    const { schedule } = this.#book.ask(this.#book.get(id).schedule.id)
    this.#listChanged()
    await this.tick()
    return this.#shown(this.#book.get(schedule.id))
  }

  #changedTo(state: ScheduleState): ShownSchedule {
    this.#listChanged()
    void this.tick()
    return this.#shown(state)
  }

  /** Whether a run has this session at work. */
  owns(sessionId: string): boolean {
    return [...this.#running.values()].some(({ run }) => run.sessionId === sessionId)
  }

  /** Runs go on after this: the next server finds them in the journal. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#ticking
    await this.#tidying.settled()
    await this.#lock?.release()
  }

  /** Deals with everything that is due. */
  async tick(): Promise<void> {
    while (this.#ticking !== undefined) await this.#ticking
    if (!this.#isStarted || this.#isClosed) return
    this.#ticking = this.#deal()
      .catch((error: unknown) => {
        this.#options.onFault(error)
        return false
      })
      .then(isDone => {
        this.#ticking = undefined
        this.#setTimer(isDone ? MIN_WAIT_MS : RETRY_MS)
      })
    return this.#ticking
  }

  /** False if something is left for a later time. */
  async #deal(): Promise<boolean> {
    if (this.#book.list().length === 0) return true
    if (!(await this.#isOurs())) return false
    this.#book.compact(this.#options.onFault, this.#now())
    let isDone = true
    for (const state of this.#book.list()) {
      const { id } = state.schedule
      for (const run of state.runs)
        if (run.receipt === null && !this.#running.has(run.run)) this.#go(state.schedule, run)
      try {
        const before = dueWork(state, this.#now())
        if (before?.do === 'skip') {
          this.#book.skip(id, before)
          this.#listChanged()
        }
        if (before?.do !== 'run') continue
        const owner = await findProjectOwner(state.schedule.project).catch(() => undefined)
        if (owner !== undefined && owner.pid !== process.pid) {
          isDone = false
          continue
        }
        const open = await this.#openLoop(state.schedule)
        // It may have been paused or removed while that was looked up.
        const fresh = this.#book.find(id)
        const work = fresh && dueWork(fresh, this.#now())
        if (work?.do === 'run')
          this.#go(state.schedule, this.#book.claim(id, work, { now: this.#now(), open }))
      } catch (error) {
        isDone = false
        this.#options.onFault(error)
      }
    }
    return isDone
  }

  async #isOurs(): Promise<boolean> {
    if (this.#lock !== undefined) return true
    try {
      const lock = await lockProject(this.#book.folder, {
        address: this.#options.address,
        onLost: () => {
          this.#lock = undefined
        },
      })
      this.#lock = lock
      return true
    } catch (error) {
      if (error instanceof ProjectLockedError) return false
      throw error
    }
  }

  #setTimer(minMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    const times = this.#times()
    // Not longer: another process adds schedules, and a machine that slept has a clock that jumped.
    const ms = Math.min(Math.max(Math.min(...times) - this.#now(), minMs), MAX_WAIT_MS)
    this.#timer = setTimeout(() => void this.tick(), ms)
    this.#timer.unref()
  }

  #times(): number[] {
    try {
      return this.#book.list().flatMap(state => nextTime(state) ?? [])
    } catch (error) {
      this.#options.onFault(error)
      return []
    }
  }

  /** A loop on the list that is not over: it is gone on with. */
  async #openLoop({ what, project }: Schedule) {
    if (what.kind !== 'loop') return undefined
    const open = await this.#options.loops.openOn(project, what.list).catch(() => undefined)
    if (open === undefined) return undefined
    const { loopId, spent, iterations } = open
    return { loopId, before: { usd: spent.usd, tokens: spent.tokens, iterations } }
  }

  #go(schedule: Schedule, run: ScheduleRun): void {
    this.#running.set(run.run, { run, schedule })
    this.#changed({ schedule, run })
    const work = schedule.what.kind === 'loop' ? this.#runLoop(schedule, run) : this.#runPrompt(schedule, run)
    void work
      .catch((error: unknown): RunReceipt | undefined => {
        if (error instanceof ProjectLockedError) return undefined
        const words = error instanceof Error ? error.message : String(error)
        return this.#receipt(run, { outcome: 'failed', words })
      })
      .then(receipt => {
        this.#running.delete(run.run)
        // A server that ends says nothing: the next one finds what became of it. So does a later tick where another
        // process has the project.
        if (this.#isClosed || receipt === undefined) return
        this.#book.end(schedule.id, run.run, receipt)
        this.#changed({ schedule, run: { ...run, receipt } })
        void this.tick()
        void this.#tidying.run(() => this.#tidy(schedule.id).catch(this.#options.onFault))
      })
      .catch(this.#options.onFault)
  }

  /** Not of a schedule that was removed: its worktrees are left to the user. */
  async #tidy(id: string): Promise<void> {
    const state = this.#isClosed ? undefined : this.#book.find(id)
    const isClosed = () => this.#isClosed
    if (state !== undefined) await removeOldWorktrees(state, { ...this.#options, isClosed })
  }

  async #runLoop(
    { what, project, budgetUsd, maxMinutes, answerMinutes }: Schedule,
    run: ScheduleRun,
  ): Promise<RunReceipt | undefined> {
    const { loops } = this.#options
    const { loopId = '', before } = run
    if (what.kind !== 'loop') throw loopError('schedule-refused', 'It is no loop.')
    let heard: () => void = () => {}
    const unlisten = loops.onChange(change => {
      if (change.loopId === loopId) heard()
    })
    try {
      const known = await loops.summary(loopId).catch(() => undefined)
      if (known?.runs === 'elsewhere') return undefined
      // Limits are of one run; those of a loop are of all its runs.
      const { parallel, commands: allowed = [] } = what
      const maxIterations = what.maxIterations && what.maxIterations + (before?.iterations ?? 0)
      const until = maxMinutes ? new Date(this.#now() + maxMinutes * 60_000).toISOString() : undefined
      const allUsd = budgetUsd && budgetUsd + (before?.usd ?? 0)
      const limits = {
        budgetUsd: allUsd,
        maxIterations,
        parallel,
        answerMinutes,
        until,
        ...limitsOfPlan(what),
      }
      if (known === undefined) await loops.start({ project, list: what.list, limits }, { loopId, allowed })
      else if (known.runs === 'no' && (known.end?.at ?? '') < run.claimedAt)
        await loops.resume(loopId, { limits }, { allowed })
      for (;;) {
        const next = new Promise<void>(resolve => {
          heard = resolve
        })
        const { runs, end, counts, spent } = await loops.summary(loopId)
        if (runs === 'no' || this.#isClosed) {
          const outcome: RunOutcome = counts.parked > 0 ? 'needs-you' : LOOP_OUTCOMES[end?.reason ?? 'failed']
          const sessions = (await loops.get(loopId)).tasks.flatMap(({ sessionId }) => sessionId ?? [])
          const costUsd = spent.usd === null ? null : spent.usd - (before?.usd ?? 0)
          const tokens = spent.tokens - (before?.tokens ?? 0)
          const cost = { costUsd, costIsEstimate: spent.isEstimate, tokens }
          return this.#receipt(run, { outcome, words: end?.why ?? 'It was cut off.', sessions, ...cost })
        }
        await next
      }
    } finally {
      unlisten()
    }
  }

  async #runPrompt(schedule: Schedule, run: ScheduleRun): Promise<RunReceipt> {
    const { host, projects } = this.#options
    const { what, name, budgetUsd, maxMinutes = PROMPT_MINUTES, answerMinutes } = schedule
    const { sessionId = '', worktreeId } = run
    if (what.kind !== 'prompt') throw loopError('schedule-refused', 'It is no prompt.')
    const root = await projects.require(schedule.project)
    await host.openProject(root)
    if ((await host.store.get(sessionId)) === undefined) {
      const { harness, persona, model, permissionMode } = what
      if (worktreeId !== undefined && (await host.worktrees.find(worktreeId)) === undefined)
        await host.worktrees.make({ projectRoot: root, title: name, id: worktreeId })
      const chosen = Object.entries({ harness, persona, model, permissionMode, budgetUsd })
      await host.createSession(root, {
        ...Object.fromEntries(chosen.filter(([, value]) => value !== undefined)),
        id: sessionId,
        title: name,
        ...(worktreeId === undefined ? {} : { worktree: { id: worktreeId } }),
      })
    }
    const live = await host.session(sessionId)
    const end = await promptTurn(host, live, {
      prompt: what.prompt,
      answerMinutes,
      timeoutMs: maxMinutes * 60_000,
      allow: what.allow ?? [],
      spentMs: this.#now() - Date.parse(run.claimedAt),
    })
    const { costUsd, costIsEstimate, tokens, harness, model } = live.status
    const facts = { sessions: [sessionId], costUsd, costIsEstimate, tokens, harness, model }
    return this.#receipt(run, { ...facts, ...end })
  }

  #receipt(run: ScheduleRun, facts: Pick<RunReceipt, 'outcome' | 'words'> & Partial<RunReceipt>): RunReceipt {
    return {
      sessions: run.sessionId === undefined ? [] : [run.sessionId],
      loopId: run.loopId ?? null,
      harness: null,
      model: null,
      costUsd: null,
      costIsEstimate: false,
      tokens: 0,
      ...facts,
      words: facts.words.slice(0, MAX_WORDS),
      exitCode: EXIT_CODES[facts.outcome],
      endedAt: new Date(this.#now()).toISOString(),
    }
  }

  #shown(state: ScheduleState): ShownSchedule {
    const { schedule, isPaused, runs, skipped } = state
    const next = nextTime(state)
    return {
      ...schedule,
      addedAt: state.addedAt,
      isPaused,
      skipped,
      last: runs[0] ?? null,
      next: next === null ? null : new Date(next).toISOString(),
      words: timesInWords(schedule.when),
      upcoming: nextTimes(state, SHOWN_TIMES),
      isRunning: state.asked > 0 || runs.some(({ receipt }) => receipt === null),
    }
  }

  #changed(change: ScheduleChange): void {
    for (const listener of [...this.#listeners]) listener(change)
    this.#listChanged()
  }

  #listChanged(): void {
    for (const listener of [...this.#listListeners]) listener()
  }
}

const LOOP_OUTCOMES: Record<LoopEndReason, RunOutcome> = {
  done: 'done',
  blocked: 'failed',
  stopped: 'stopped',
  limit: 'limit',
  'rate-limit': 'limit',
  'list-missing': 'failed',
  failed: 'failed',
}
/** The exit codes of the command line. */
const EXIT_CODES: Record<RunOutcome, number> = { done: 0, failed: 1, 'needs-you': 1, limit: 5, stopped: 130 }
const PROMPT_MINUTES = 60
const MAX_WORDS = 2_000
const SHOWN_TIMES = 3
const MIN_WAIT_MS = 50
/** Until what failed, or another process held up, is tried again. */
const RETRY_MS = 5_000
const MAX_WAIT_MS = 30_000
