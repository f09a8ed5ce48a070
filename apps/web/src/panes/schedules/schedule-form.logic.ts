import type { NewSchedule, ShownSchedule } from '../../state/server/answers.ts'
import { agentNames } from '../loops/agent-names.ts'

type ScheduleTimes = NewSchedule['when']

/** What stands in the fields. */
export interface ScheduleForm {
  name: string
  project: string
  kind: 'prompt' | 'loop'
  prompt: string
  harness: string
  persona: string
  /** Not a field: kept as it is when a schedule is changed. */
  model: string
  permissionMode: NonNullable<Extract<NewSchedule['what'], { kind: 'prompt' }>['permissionMode']> | ''
  worktree: boolean
  /** Tools that the prompt may use without asking. The form keeps what the command line set. */
  allow: readonly string[]
  list: string
  maxIterations: string
  parallel: string
  waitForLimits: string
  /** Ids of agents with commas between, or `off`. */
  handOver: string
  /** Those that the runs may use. */
  commands: readonly string[]
  times: ScheduleTimes['kind']
  cron: string
  timeZone: string
  every: string
  unit: 'minutes' | 'hours' | 'days'
  /** As a field for a date and a time has it: in the time zone of the browser. */
  at: string
  /** Not a field: the time that `at` shows the minute of. */
  time: string
  missed: 'skip' | 'once'
  overlap: 'skip' | 'allow'
  budget: string
  maxMinutes: string
  answerMinutes: string
  keepRuns: string
}

/** What the parts of the form get. */
export interface FormProps {
  form: ScheduleForm
  set(fields: Partial<ScheduleForm>): void
}

export function emptyForm(timeZone: string): ScheduleForm {
  return {
    name: '',
    project: '',
    kind: 'prompt',
    prompt: '',
    harness: '',
    persona: '',
    model: '',
    permissionMode: '',
    worktree: false,
    allow: [],
    list: '',
    maxIterations: '',
    parallel: '',
    waitForLimits: '',
    handOver: '',
    commands: [],
    times: 'cron',
    cron: '0 6 * * mon-fri',
    timeZone,
    every: '6',
    unit: 'hours',
    at: '',
    time: '',
    missed: 'skip',
    overlap: 'skip',
    budget: '',
    maxMinutes: '',
    answerMinutes: '30',
    keepRuns: '10',
  }
}

/** A schedule as its form shows it. */
export function formOf(schedule: ShownSchedule, timeZone: string): ScheduleForm {
  const { what, when, name, project, missed, overlap } = schedule
  const text = (value: number | undefined) => (value === undefined ? '' : String(value))
  return {
    ...emptyForm(timeZone),
    name,
    project,
    missed,
    overlap,
    kind: what.kind,
    times: when.kind,
    ...(what.kind === 'loop'
      ? {
          list: what.list,
          maxIterations: text(what.maxIterations),
          parallel: text(what.parallel),
          waitForLimits: text(what.waitForLimits),
          commands: what.commands ?? [],
          handOver: what.nextHarnesses?.join(', ') === '' ? 'off' : (what.nextHarnesses?.join(', ') ?? ''),
        }
      : {
          prompt: what.prompt,
          harness: what.harness ?? '',
          persona: what.persona ?? '',
          model: what.model ?? '',
          permissionMode: what.permissionMode ?? '',
          worktree: what.worktree ?? false,
          allow: what.allow ?? [],
        }),
    ...(when.kind === 'cron' ? { cron: when.cron, timeZone: when.timeZone } : {}),
    ...(when.kind === 'every' ? spanOf(when.minutes) : {}),
    ...(when.kind === 'at' ? { at: localTime(new Date(when.time)), time: when.time } : {}),
    budget: text(schedule.budgetUsd),
    maxMinutes: text(schedule.maxMinutes),
    answerMinutes: text(schedule.answerMinutes),
    keepRuns: text(schedule.keepRuns),
  }
}

const UNITS = { minutes: 1, hours: 60, days: 1440 }

function spanOf(minutes: number): Pick<ScheduleForm, 'every' | 'unit'> {
  const unit = minutes % 1440 === 0 ? 'days' : minutes % 60 === 0 ? 'hours' : 'minutes'
  return { every: String(minutes / UNITS[unit]), unit }
}

/** Its times, or what is wrong with the fields. */
export function timesFrom(form: ScheduleForm): ScheduleTimes | string {
  if (form.times === 'cron')
    return form.cron.trim() === ''
      ? 'Write the five cron fields, such as "0 3 * * *".'
      : { kind: 'cron', cron: form.cron.trim(), timeZone: form.timeZone }
  if (form.times === 'every') {
    const count = Number(form.every)
    return Number.isInteger(count) && count > 0
      ? { kind: 'every', minutes: count * UNITS[form.unit] }
      : '"Every" must be a whole number above 0.'
  }
  // Not touched: its seconds stay.
  if (form.time !== '' && form.at === localTime(new Date(form.time))) return { kind: 'at', time: form.time }
  const time = new Date(form.at)
  return Number.isNaN(time.getTime()) ? 'Give a date and a time.' : { kind: 'at', time: time.toISOString() }
}

/** Schedule to send, or what is wrong with the fields. */
export function scheduleFrom(form: ScheduleForm): NewSchedule | string {
  const { name, kind, prompt, list, project, missed, overlap } = form
  const words = kind === 'prompt' ? prompt.trim() : list
  if (project === '') return 'Choose a project.'
  if (words === '') return kind === 'prompt' ? 'Write what the agent is to do.' : 'Choose a task list.'
  const when = timesFrom(form)
  if (typeof when === 'string') return when
  const limits: Partial<Record<keyof typeof NUMBERS, number>> = {}
  for (const [key, { label, min, max, whole }] of Object.entries(NUMBERS) as [
    keyof typeof NUMBERS,
    Limit,
  ][]) {
    const text = form[key].trim()
    const isOther = kind === 'prompt' && LOOP_ONLY.has(key)
    if (text === '' || isOther) continue
    const value = Number(text)
    const isRight = value >= min && value <= max && (!whole || Number.isInteger(value))
    if (!isRight) return `"${label}" must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}.`
    limits[key] = value
  }
  const { maxIterations, parallel, waitForLimits, budget: budgetUsd, ...own } = limits
  const next = form.handOver.trim() === 'off' ? [] : agentNames(form.handOver)
  if (kind === 'loop' && typeof next === 'string') return next
  return {
    name: name.trim() || (words.split('\n')[0] ?? '').slice(0, 60),
    project,
    when,
    missed,
    overlap,
    ...own,
    ...(budgetUsd === undefined ? {} : { budgetUsd }),
    what:
      kind === 'prompt'
        ? { kind, prompt: words, ...chosen(form) }
        : {
            kind,
            list,
            commands: [...form.commands],
            ...(maxIterations === undefined ? {} : { maxIterations }),
            ...(parallel === undefined ? {} : { parallel }),
            ...(waitForLimits === undefined ? {} : { waitForLimits }),
            ...(form.handOver.trim() === '' || typeof next === 'string' ? {} : { nextHarnesses: next }),
          },
  }
}

function chosen({ harness, persona, model, permissionMode, worktree, allow }: ScheduleForm) {
  return {
    ...(harness ? { harness } : {}),
    ...(persona ? { persona } : {}),
    ...(model ? { model } : {}),
    ...(permissionMode ? { permissionMode } : {}),
    ...(worktree ? { worktree } : {}),
    ...(allow.length > 0 ? { allow: [...allow] } : {}),
  }
}

interface Limit {
  label: string
  min: number
  max: number
  whole?: boolean
}

const NUMBERS = {
  budget: { label: 'Budget in dollars', min: 0.01, max: 1_000_000 },
  maxMinutes: { label: 'Minutes', min: 1, max: 1440 },
  answerMinutes: { label: 'Wait for an answer', min: 0, max: 1440 },
  keepRuns: { label: 'Keep worktrees', min: 1, max: 50, whole: true },
  maxIterations: { label: 'Turns of agents', min: 1, max: 1_000_000, whole: true },
  parallel: { label: 'Tasks at once', min: 1, max: 16, whole: true },
  waitForLimits: { label: 'Waits for the plan', min: 0, max: 50, whole: true },
} as const satisfies Record<string, Limit>

const LOOP_ONLY: ReadonlySet<string> = new Set(['maxIterations', 'parallel', 'waitForLimits'])

/** `2030-01-31T06:30`, in the time zone of the browser. */
export function localTime(time: Date): string {
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  return Number.isNaN(shifted.getTime()) ? '' : shifted.toISOString().slice(0, 16)
}

/** A time of a schedule in its own time zone; without one in that of the browser. */
export function timeIn(time: string, when: ScheduleTimes): string {
  return new Date(time).toLocaleString(undefined, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    ...(when.kind === 'cron' ? { timeZone: when.timeZone } : {}),
  })
}

/** All that the browser knows, and the one that is chosen. */
export function timeZones(chosen: string): string[] {
  return [...new Set([chosen, 'UTC', ...Intl.supportedValuesOf('timeZone')])]
}
