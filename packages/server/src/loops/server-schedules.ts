import {
  dueWork,
  eventsAfter,
  type LoopEndReason,
  lastText,
  loopError,
  type NewSchedule,
  nextTime,
  questionIn,
  type RunOutcome,
  type RunReceipt,
  requestWords,
  type Schedule,
  ScheduleBook,
  type ScheduleRun,
  type ScheduleState,
} from '@chirality/loops'
import {
  type LiveSession,
  lockProject,
  type ProjectLock,
  ProjectLockedError,
  type SessionHost,
} from '@chirality/sessions'
import type { ShownSchedule } from '../contract/schedule-calls.ts'
import { confine } from '../files/confine.ts'
import type { ProjectRegistry } from '../projects/project-registry.ts'
import type { ServerLoops } from './server-loops.ts'

export interface ServerSchedulesOptions {
  home: string
  /** Told to other servers of the user. */
  address: string
  host: SessionHost
  loops: ServerLoops
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
export class ServerSchedules {
  readonly #options: ServerSchedulesOptions
  readonly #book: ScheduleBook
  readonly #running = new Map<string, { run: ScheduleRun; schedule: Schedule }>()
  readonly #listeners = new Set<(change: ScheduleChange) => void>()
  readonly #now: () => number
  #lock: ProjectLock | undefined
  #timer: NodeJS.Timeout | undefined
  #ticking: Promise<void> | undefined
  #isStarted = false
  #isClosed = false

  constructor(options: ServerSchedulesOptions) {
    this.#options = options
    this.#book = new ScheduleBook(options.home)
    this.#now = options.now ?? Date.now
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

  get(id: string): ShownSchedule & { runs: ScheduleRun[] } {
    const state = this.#book.get(id)
    return { ...this.#shown(state), runs: state.runs }
  }

  async add(input: NewSchedule): Promise<ShownSchedule> {
    const project = await this.#options.projects.require(input.project)
    if (input.what.kind === 'loop') await confine(project, input.what.list)
    const state = this.#book.add({ ...input, project }, this.#now())
    void this.tick()
    return this.#shown(state)
  }

  pause(id: string): ShownSchedule {
    return this.#shown(this.#book.pause(this.#book.get(id).schedule.id))
  }

  resume(id: string): ShownSchedule {
    const state = this.#book.resume(this.#book.get(id).schedule.id, this.#now())
    void this.tick()
    return this.#shown(state)
  }

  remove(id: string): void {
    this.#book.remove(this.#book.get(id).schedule.id)
  }

  /** Answers when the run is claimed, if this server runs the schedules. */
  async run(id: string): Promise<ShownSchedule> {
    const { schedule } = this.#book.ask(this.#book.get(id).schedule.id)
    await this.tick()
    return this.#shown(this.#book.get(schedule.id))
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
    await this.#lock?.release()
  }

  /** Deals with everything that is due. */
  async tick(): Promise<void> {
    while (this.#ticking !== undefined) await this.#ticking
    if (!this.#isStarted || this.#isClosed) return
    this.#ticking = this.#deal()
      .catch(this.#options.onFault)
      .finally(() => {
        this.#ticking = undefined
        this.#setTimer()
      })
    return this.#ticking
  }

  async #deal(): Promise<void> {
    const states = this.#book.list()
    if (states.length === 0 || !(await this.#isOurs())) return
    for (const state of states) {
      const { id } = state.schedule
      for (const run of state.runs)
        if (run.receipt === null && !this.#running.has(run.run)) this.#go(state.schedule, run)
      try {
        const work = dueWork(state, this.#now())
        if (work?.do === 'skip') this.#book.skip(id, work)
        if (work?.do !== 'run') continue
        const open = await this.#openLoop(state.schedule)
        // It may have been paused or removed while that was looked up.
        if (this.#book.find(id)?.isPaused !== state.isPaused) continue
        this.#go(state.schedule, this.#book.claim(id, work, { now: this.#now(), open }))
      } catch (error) {
        this.#options.onFault(error)
      }
    }
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

  #setTimer(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    const times = this.#book.list().flatMap(state => nextTime(state) ?? [])
    // Not longer: another process adds schedules, and a machine that slept has a clock that jumped.
    const ms = Math.min(Math.max(Math.min(...times) - this.#now(), MIN_WAIT_MS), MAX_WAIT_MS)
    this.#timer = setTimeout(() => void this.tick(), ms)
    this.#timer.unref()
  }

  /** A loop on the list that is not over: it is gone on with. */
  async #openLoop({ what, project }: Schedule) {
    if (what.kind !== 'loop') return undefined
    const loops = await this.#options.loops.list(project).catch(() => [])
    const open = loops.find(loop => loop.list === what.list && !loop.isOver)
    if (open === undefined) return undefined
    const { loopId, spent, iterations } = open
    return { loopId, before: { usd: spent.usd, tokens: spent.tokens, iterations } }
  }

  #go(schedule: Schedule, run: ScheduleRun): void {
    this.#running.set(run.run, { run, schedule })
    this.#changed({ schedule, run })
    const work = schedule.what.kind === 'loop' ? this.#runLoop(schedule, run) : this.#runPrompt(schedule, run)
    void work
      .catch((error: unknown): RunReceipt => {
        const words = error instanceof Error ? error.message : String(error)
        return this.#receipt(run, { outcome: 'failed', words })
      })
      .then(receipt => {
        this.#running.delete(run.run)
        // A server that ends says nothing: the next one finds what became of it.
        if (this.#isClosed) return
        this.#book.end(schedule.id, run.run, receipt)
        this.#changed({ schedule, run: { ...run, receipt } })
        void this.tick()
      })
      .catch(this.#options.onFault)
  }

  async #runLoop(
    { what, project, budgetUsd, maxMinutes, answerMinutes }: Schedule,
    run: ScheduleRun,
  ): Promise<RunReceipt> {
    const { loops } = this.#options
    const { loopId = '', before } = run
    if (what.kind !== 'loop') throw loopError('schedule-refused', 'It is no loop.')
    let heard: () => void = () => {}
    const unlisten = loops.onChange(change => {
      if (change.loopId === loopId) heard()
    })
    try {
      const known = await loops.summary(loopId).catch(() => undefined)
      if (known?.runs === 'elsewhere')
        throw loopError('schedule-refused', `A terminal runs the loop ${loopId} on ${what.list}.`)
      // Limits are of one run; those of a loop are of all its runs.
      const { parallel } = what
      const maxIterations = what.maxIterations && what.maxIterations + (before?.iterations ?? 0)
      const until = maxMinutes ? new Date(this.#now() + maxMinutes * 60_000).toISOString() : undefined
      const allUsd = budgetUsd && budgetUsd + (before?.usd ?? 0)
      const limits = { budgetUsd: allUsd, maxIterations, parallel, answerMinutes, until }
      if (known === undefined) await loops.start({ project, list: what.list, limits }, loopId)
      else if (known.runs === 'no' && (known.end?.at ?? '') < run.claimedAt)
        await loops.resume(loopId, { limits })
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
    const { what, name, budgetUsd, maxMinutes = PROMPT_MINUTES } = schedule
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
        ...{ id: sessionId, title: name },
        ...(worktreeId === undefined ? {} : { worktree: { id: worktreeId } }),
      })
    }
    const live = await host.session(sessionId)
    const timeoutMs = maxMinutes * 60_000
    const asked = await this.#turn(live, schedule, { prompt: what.prompt, timeoutMs, since: run.claimedAt })
    const { costUsd, costIsEstimate, tokens, harness, model } = live.status
    const facts = { sessions: [sessionId], costUsd, costIsEstimate, tokens, harness, model }
    return this.#receipt(run, { ...facts, ...(asked ? { outcome: 'needs-you', words: asked } : endOf(live)) })
  }

  /** One turn, which is not begun twice. Resolves with the request that nobody answered in time. */
  async #turn(
    live: LiveSession,
    { answerMinutes }: Schedule,
    { prompt, timeoutMs, since }: { prompt: string; timeoutMs: number; since: string },
  ): Promise<string | undefined> {
    let asked: string | undefined
    let awaited: string | undefined
    let timer: NodeJS.Timeout | undefined
    const watch = () => {
      const [request] = live.status.pending
      if (request?.requestId === awaited) return
      clearTimeout(timer)
      awaited = request?.requestId
      if (request === undefined) return
      timer = setTimeout(() => {
        asked = requestWords(request)
        live.interrupt()
      }, answerMinutes * 60_000)
    }
    const unwatch = this.#options.host.onStatus(({ sessionId }) => {
      if (sessionId === live.id) watch()
    })
    // The host knows the limit of a turn that it started, but not of one that it found again.
    const lateMs = Date.parse(since) + timeoutMs + LATE_MS - this.#now()
    const late = setTimeout(() => live.interrupt(), Math.max(0, lateMs))
    try {
      const hasBegun = eventsAfter(live, 0).some(({ type }) => type === 'turn:start')
      if (!hasBegun) await live.start(prompt, { timeoutMs })
      watch()
      await live.settled()
      return asked
    } finally {
      unwatch()
      clearTimeout(timer)
      clearTimeout(late)
    }
  }

  #receipt(run: ScheduleRun, facts: Pick<RunReceipt, 'outcome' | 'words'> & Partial<RunReceipt>): RunReceipt {
    return {
      ...{ sessions: run.sessionId === undefined ? [] : [run.sessionId], loopId: run.loopId ?? null },
      ...{ harness: null, model: null, costUsd: null, costIsEstimate: false, tokens: 0 },
      ...{ ...facts, words: facts.words.slice(0, MAX_WORDS), exitCode: EXIT_CODES[facts.outcome] },
      endedAt: new Date(this.#now()).toISOString(),
    }
  }

  #shown(state: ScheduleState): ShownSchedule {
    const { schedule, isPaused, runs, skipped } = state
    const next = nextTime(state)
    return {
      ...{ ...schedule, addedAt: state.addedAt, isPaused, skipped, last: runs[0] ?? null },
      next: next === null ? null : new Date(next).toISOString(),
      isRunning: state.asked > 0 || runs.some(({ receipt }) => receipt === null),
    }
  }

  #changed(change: ScheduleChange): void {
    for (const listener of [...this.#listeners]) listener(change)
  }
}

/** What the log says of the only turn of a run. */
function endOf(live: LiveSession): { outcome: RunOutcome; words: string } {
  const events = eventsAfter(live, 0)
  const end = events.findLast(event => event.type === 'turn:end')
  const failed = events.findLast(event => event.type === 'session:error' && !event.recovered)
  const text = lastText(live, 0)
  switch (end?.type === 'turn:end' ? end.reason : 'crashed') {
    case 'completed': {
      const question = questionIn(text)
      return question === undefined
        ? { outcome: 'done', words: text }
        : { outcome: 'needs-you', words: question }
    }
    case 'max_turns':
    case 'budget':
      return { outcome: 'limit', words: 'A limit of the session is reached.' }
    case 'interrupted':
    case 'killed':
      return { outcome: 'stopped', words: 'Its turn was stopped.' }
    case 'timeout':
      return { outcome: 'limit', words: 'The time of the run is over.' }
    default:
      return {
        outcome: 'failed',
        words: failed?.type === 'session:error' ? failed.error : 'Its agent ended without an answer.',
      }
  }
}

const LOOP_OUTCOMES: Record<LoopEndReason, RunOutcome> = {
  ...{ done: 'done', blocked: 'failed', stopped: 'stopped', limit: 'limit', 'rate-limit': 'limit' },
  ...{ 'list-missing': 'failed', failed: 'failed' },
}
/** Those of the command line. */
const EXIT_CODES: Record<RunOutcome, number> = { done: 0, failed: 1, 'needs-you': 1, limit: 5, stopped: 130 }
const PROMPT_MINUTES = 60
const MAX_WORDS = 2_000
const LATE_MS = 60_000
const MIN_WAIT_MS = 50
const MAX_WAIT_MS = 30_000
