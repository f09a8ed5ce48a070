import { HARNESS_ID } from '@chirality/core'
import { Cron } from 'croner'
import { z } from 'zod'
import { loopError } from './loop-error.ts'

const MINUTES_A_YEAR = 366 * 24 * 60
/** Default number of runs whose worktrees are kept. */
export const KEEP_RUNS = 10

/** IANA name, such as `Europe/Berlin`. */
const TIME_ZONE = z.string().max(64).refine(isTimeZone, 'must be a time zone, such as Europe/Berlin')

/** Times of a schedule. */
export const SCHEDULE_TIMES = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('cron'),
    cron: z
      .string()
      .max(200)
      .refine(isCron, 'must be five cron fields that come to a time, such as "0 3 * * mon-fri"')
      .describe('Minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly.'),
    timeZone: TIME_ZONE.describe('Time zone of the fields. Daylight saving is followed.'),
  }),
  z.strictObject({
    kind: z.literal('every'),
    minutes: z
      .int()
      .min(1)
      .max(MINUTES_A_YEAR)
      .describe('Interval, counted from the time at which the schedule was added.'),
  }),
  z.strictObject({
    kind: z.literal('at'),
    time: z.iso.datetime({ offset: true }).describe('Runs once, at this time.'),
  }),
])

const PERSONA = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the id of a persona')
const TOOLS = z.array(z.string().trim().min(1).max(1_000)).max(100)
/** Work of a schedule. */
const SCHEDULE_WORK = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('prompt'),
    prompt: z.string().trim().min(1, 'must not be empty').max(100_000),
    harness: z.string().regex(HARNESS_ID, 'must be the id of a harness').optional(),
    persona: PERSONA.optional(),
    model: z
      .string()
      .regex(/^[A-Za-z0-9][\w.:@/[\]-]{0,127}$/, 'must be the name of a model')
      .optional(),
    permissionMode: z
      .enum(['default', 'acceptEdits', 'dontAsk', 'plan'])
      .optional()
      .describe('Default: as in any session. A request waits for `answerMinutes`.'),
    allow: TOOLS.optional().describe(
      'Tools that the agent may use without asking: `Bash(npm test)`, `Edit`.',
    ),
    worktree: z
      .boolean()
      .optional()
      .describe('Runs in a new worktree of the commit that is checked out at that time.'),
  }),
  z.strictObject({
    kind: z.literal('loop'),
    list: z.string().min(1).max(4096).describe('The task list: a path in the project.'),
    maxIterations: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe('Limit of agent turns in the whole run.'),
    parallel: z.int().min(1).max(16).optional().describe('Number of tasks that run at once.'),
    waitForLimits: z
      .int()
      .min(0)
      .max(50)
      .optional()
      .describe(
        'How often the loop may wait for the reset of a limit of the plan. Default: the value in the list.',
      ),
    nextHarnesses: z
      .array(z.string().regex(HARNESS_ID, 'must be the id of a harness'))
      .max(16)
      .optional()
      .describe(
        'Agents that continue a task at a limit of the plan, in order; empty for none. Default: the value in the list.',
      ),
    commands: z
      .array(z.string().min(1).max(100_000))
      .max(10_000)
      .optional()
      .describe(
        'The set-up and check commands that a run may use, word for word. A task with any other command waits for you. Default: the commands in the list when the schedule is added, or those of the schedule that is changed.',
      ),
  }),
])

/** A loop or a prompt that the server runs at given times. */
export const NEW_SCHEDULE = z.strictObject({
  name: z.string().trim().min(1, 'must not be empty').max(100),
  project: z.string().min(1, 'must be the path of a project').max(4096),
  what: SCHEDULE_WORK,
  when: SCHEDULE_TIMES,
  missed: z
    .enum(['skip', 'once'])
    .optional()
    .describe('Handling of times at which no server ran: `skip` them, the default, or run `once`, later.'),
  overlap: z
    .enum(['skip', 'allow'])
    .optional()
    .describe(
      'Handling of a time at which the last run is not over: `skip` it, the default, or `allow` another run.',
    ),
  budgetUsd: z.number().positive().max(1_000_000).optional().describe('Limit for each run, in US dollars.'),
  maxMinutes: z
    .number()
    .positive()
    .max(24 * 60)
    .optional()
    .describe('Time limit for each run. Default: 60 for a prompt, none for a loop.'),
  answerMinutes: z
    .number()
    .min(0)
    .max(24 * 60)
    .optional()
    .describe('How long a request waits for an answer before the run ends and needs you. Default: 30.'),
  keepRuns: z
    .int()
    .min(1)
    .max(50)
    .optional()
    .describe(
      'Number of runs whose worktrees are kept. Default: 10. Worktrees of older runs are removed only when their work exists elsewhere.',
    ),
})

const STORED = NEW_SCHEDULE.required({ missed: true, overlap: true, answerMinutes: true }).extend({
  id: z.string(),
  keepRuns: NEW_SCHEDULE.shape.keepRuns.unwrap().default(KEEP_RUNS),
})

export type NewSchedule = z.infer<typeof NEW_SCHEDULE>
export type ScheduleTimes = z.infer<typeof SCHEDULE_TIMES>

/** The stored form, with all defaults filled in. */
export type Schedule = z.infer<typeof STORED>

/** The first time after a moment. Undefined if there is none. */
export function timeAfter(when: ScheduleTimes, addedAt: number, after: number): number | undefined {
  switch (when.kind) {
    case 'cron':
      return cronOf(when.cron, when.timeZone).nextRun(new Date(after))?.getTime()
    case 'every': {
      const step = when.minutes * 60_000
      return addedAt + Math.max(1, Math.floor((after - addedAt) / step) + 1) * step
    }
    case 'at': {
      const time = Date.parse(when.time)
      return time > after ? time : undefined
    }
  }
}

/** The next times of a schedule that is added now, at most `count`. */
export function timesAfter(when: ScheduleTimes, now: number, count: number): string[] {
  return listTimes(when, { from: now, after: now, count })
}

function listTimes(
  when: ScheduleTimes,
  { from, after, count }: { from: number; after: number; count: number },
): string[] {
  const times: string[] = []
  for (let last = after; times.length < count; ) {
    const next = timeAfter(when, from, last)
    if (next === undefined) break
    times.push(new Date(next).toISOString())
    last = next
  }
  return times
}

/** Throws if the time is over, or no calendar has it. */
export function requireTimes(when: ScheduleTimes, now: number): void {
  if (timesAfter(when, now, 1).length > 0) return
  throw loopError(
    'schedule-refused',
    when.kind === 'at' ? `${when.time} is over. Give a time to come.` : 'There is no such time to come.',
  )
}

function cronOf(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone, mode: '5-part' })
}

function isCron(cron: string): boolean {
  try {
    return cronOf(cron, 'UTC').nextRun(new Date(0)) !== null
  } catch {
    return false
  }
}

function isTimeZone(name: string): boolean {
  try {
    return name !== '' && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

export type RunReason = 'due' | 'missed' | 'asked'
export type RunOutcome = 'done' | 'failed' | 'needs-you' | 'limit' | 'stopped'

/** Result and cost of one run. */
export interface RunReceipt {
  outcome: RunOutcome
  /** Exit code of the equivalent `chirality run` or `chirality loop run`. */
  exitCode: number
  /** Why the run is not done, or the agent's last answer. */
  words: string
  sessions: string[]
  loopId: string | null
  harness: string | null
  model: string | null
  costUsd: number | null
  costIsEstimate: boolean
  tokens: number
  endedAt: string
}

export interface LoopSpent {
  usd: number | null
  tokens: number
  iterations: number
}

/** A run, recorded in the journal before anything of it starts. */
export interface ScheduleRun {
  run: string
  due: string
  why: RunReason
  claimedAt: string
  sessionId?: string
  worktreeId?: string
  loopId?: string
  /** Spending and iterations of a resumed loop before this run. */
  before?: LoopSpent
  /** Null while it runs. */
  receipt: RunReceipt | null
}

export type ScheduleEntry =
  | { type: 'schedule:added'; schedule: Schedule }
  | { type: 'schedule:changed'; schedule: Schedule }
  /** State of the previous file up to a byte. */
  | { type: 'schedule:kept'; upTo: number; state: ScheduleState }
  | { type: 'schedule:paused' }
  | { type: 'schedule:resumed' }
  | { type: 'schedule:removed' }
  /** A person asked for a run now. */
  | { type: 'run:asked' }
  | ({ type: 'run:claimed'; until: string } & Omit<ScheduleRun, 'receipt' | 'claimedAt'>)
  | { type: 'run:ended'; run: string; receipt: RunReceipt }
  /** Times up to this one were skipped. */
  | { type: 'run:skipped'; due: string; times: number; why: 'missed' | 'running' }

/** A schedule, folded from its journal. */
export interface ScheduleState {
  schedule: Schedule
  addedAt: string
  /** Start of the intervals: when the schedule was added, or its times were changed. */
  since: string
  isPaused: boolean
  isRemoved: boolean
  /** Times up to this one are handled. */
  dealtWith: number
  /** Number of requested runs that are not claimed. */
  asked: number
  /** The last runs, newest first, and all unfinished ones. */
  runs: ScheduleRun[]
  /** Totals of the earlier runs. */
  earlier: { runs: number; usd: number }
  skipped: { due: string; times: number; why: 'missed' | 'running' } | null
}

/** Applies an entry in place. Undefined before the first entry. */
export function applyScheduleEntry(
  state: ScheduleState | undefined,
  entry: ScheduleEntry & { at: string },
): ScheduleState | undefined {
  if (entry.type === 'schedule:added') {
    const { at } = entry
    const schedule = readStored(entry.schedule)
    if (schedule === undefined) return state
    return (
      state ?? {
        schedule,
        addedAt: at,
        since: at,
        isPaused: false,
        isRemoved: false,
        dealtWith: Date.parse(at),
        asked: 0,
        runs: [],
        earlier: { runs: 0, usd: 0 },
        skipped: null,
      }
    )
  }
  if (entry.type === 'schedule:kept') {
    const schedule = readStored(entry.state.schedule)
    return schedule === undefined ? state : { ...entry.state, schedule }
  }
  if (state === undefined) return undefined
  switch (entry.type) {
    case 'schedule:changed': {
      const schedule = readStored(entry.schedule)
      if (schedule === undefined || schedule.id !== state.schedule.id) break
      if (!isSameTime(schedule.when, state.schedule.when)) {
        state.since = entry.at
        // The new times count from now.
        state.dealtWith = Math.max(state.dealtWith, Date.parse(entry.at))
      }
      state.schedule = schedule
      break
    }
    case 'schedule:paused':
      state.isPaused = true
      break
    case 'schedule:resumed':
      state.isPaused = false
      // Times during the pause do not count as missed.
      state.dealtWith = Math.max(state.dealtWith, Date.parse(entry.at))
      break
    case 'schedule:removed':
      state.isRemoved = true
      break
    case 'run:asked':
      state.asked += 1
      break
    case 'run:claimed': {
      const { type: _type, until, at: claimedAt, ...run } = entry
      state.dealtWith = Math.max(state.dealtWith, Date.parse(until))
      if (run.why === 'asked') state.asked = Math.max(0, state.asked - 1)
      const all = [{ ...run, claimedAt, receipt: null }, ...state.runs]
      // More than those whose worktrees are kept: the worktrees of a forgotten run would never be removed.
      const kept = Math.max(KEPT_RUNS, state.schedule.keepRuns + KEEP_RUNS)
      const isKept = ({ receipt }: ScheduleRun, at: number) => at < kept || receipt === null
      state.runs = all.filter(isKept)
      for (const { receipt } of all.filter((one, at) => !isKept(one, at))) {
        state.earlier.runs += 1
        state.earlier.usd += receipt?.costUsd ?? 0
      }
      break
    }
    case 'run:ended': {
      const run = state.runs.find(one => one.run === entry.run)
      if (run !== undefined) run.receipt ??= entry.receipt
      break
    }
    case 'run:skipped':
      state.dealtWith = Math.max(state.dealtWith, Date.parse(entry.due))
      state.skipped = { due: entry.due, times: entry.times, why: entry.why }
  }
  return state
}

const KEPT_RUNS = 50

/** The file may have been edited by hand; an invalid schedule is not run. */
function readStored(schedule: unknown): Schedule | undefined {
  return STORED.safeParse(schedule).data
}

export function isSameTime(a: ScheduleTimes, b: ScheduleTimes): boolean {
  const facts = (when: ScheduleTimes) => JSON.stringify(Object.entries(when).sort())
  return facts(a) === facts(b)
}

/** The work that is due now: a run, times to skip, or none. */
export type DueWork =
  | { do: 'run'; due: number; until: number; why: RunReason }
  | { do: 'skip'; due: number; times: number; why: 'missed' | 'running' }

export function dueWork(state: ScheduleState, now: number): DueWork | undefined {
  const { schedule, isPaused, isRemoved, dealtWith, asked, runs } = state
  if (isRemoved) return undefined
  const isRunning = schedule.overlap === 'skip' && runs.some(({ receipt }) => receipt === null)
  if (asked > 0 && !isRunning) return { do: 'run', due: now, until: dealtWith, why: 'asked' }
  if (isPaused) return undefined
  const { last, times } = timesUpTo(state, now)
  if (last === undefined) return undefined
  if (isRunning) return { do: 'skip', due: last, times, why: 'running' }
  const isLate = now - last > LATE_MS
  if (isLate && schedule.missed === 'skip') return { do: 'skip', due: last, times, why: 'missed' }
  return { do: 'run', due: last, until: last, why: isLate ? 'missed' : 'due' }
}

/** The next unhandled time. Null if there is none. */
export function nextTime(state: ScheduleState): number | null {
  const [next] = nextTimes(state, 1)
  return next === undefined ? null : Date.parse(next)
}

/** The next unhandled times, at most `count`. None while paused. */
export function nextTimes({ schedule, isPaused, dealtWith, since }: ScheduleState, count: number): string[] {
  return isPaused ? [] : listTimes(schedule.when, { from: Date.parse(since), after: dealtWith, count })
}

function timesUpTo({ schedule, since, dealtWith }: ScheduleState, now: number) {
  const added = Date.parse(since)
  let last: number | undefined
  let times = 0
  let after = dealtWith
  for (;;) {
    const next = timeAfter(schedule.when, added, after)
    if (next === undefined || next > now) return { last, times }
    last = next
    after = next
    times += 1
    // After months of sleep only the last times matter.
    if (times === MAX_COUNTED) after = Math.max(after, now - RECENT_MS)
  }
}

/** A run that starts later than this counts as missed, because the server was off or the machine slept. */
export const LATE_MS = 10 * 60_000
const MAX_COUNTED = 100
const RECENT_MS = 60 * 60_000
