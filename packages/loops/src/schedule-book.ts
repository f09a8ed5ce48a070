import { randomBytes, randomUUID } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { slugOf } from '@chirality/workspaces'
import { isNodeError } from './files.ts'
import { loopError } from './loop-error.ts'
import { newLoopId } from './own-loop.ts'
import {
  type DueWork,
  isSameTime,
  KEEP_RUNS,
  type LoopSpent,
  NEW_SCHEDULE,
  type NewSchedule,
  type RunReceipt,
  requireTimes,
  type Schedule,
  type ScheduleEntry,
  type ScheduleRun,
  type ScheduleState,
} from './schedule.ts'
import { ScheduleJournal } from './schedule-journal.ts'

/**
 * The schedules of a user, each with a journal in `schedules/<id>` of the data folder. Never in a project: a clone must
 * not bring anything that runs by itself.
 */
export class ScheduleBook {
  readonly folder: string
  readonly #journals = new Map<string, ScheduleJournal>()

  constructor(home: string) {
    this.folder = path.join(home, 'schedules')
  }

  /** Oldest first. */
  list(): ScheduleState[] {
    let names: string[]
    try {
      names = readdirSync(this.folder)
    } catch (error) {
      if (isNodeError(error, 'ENOENT')) return []
      throw error
    }
    const states = names
      .filter(name => ID.test(name))
      .flatMap(id => {
        try {
          return this.find(id) ?? []
        } catch {
          // One unreadable schedule must not hide the others.
          return []
        }
      })
    return states.sort((a, b) => (a.addedAt < b.addedAt ? -1 : 1))
  }

  /** Undefined if there is none, or it was removed. */
  find(id: string): ScheduleState | undefined {
    if (!ID.test(id)) return undefined
    const state = this.#journal(id).read()
    return state?.isRemoved === true ? undefined : state
  }

  /** Finds a schedule by id, id prefix or name. */
  get(word: string): ScheduleState {
    const exact = this.find(word)
    if (exact !== undefined) return exact
    const found = this.list().filter(
      ({ schedule }) => word !== '' && (schedule.id.startsWith(word) || schedule.name === word),
    )
    const [only] = found
    if (only !== undefined && found.length === 1) return only
    throw loopError(
      'schedule-missing',
      found.length > 1
        ? `${word} names ${found.length} schedules. Use an id.`
        : `There is no schedule ${word}.`,
    )
  }

  add(input: NewSchedule, now = Date.now()): ScheduleState {
    const schedule = withDefaults(input)
    requireTimes(schedule.when, now)
    if (this.list().length >= MAX_SCHEDULES)
      throw loopError('schedule-refused', `There are ${MAX_SCHEDULES} schedules already. Remove one first.`)
    const id = `${slugOf(schedule.name, 'task').slice(0, 24)}-${randomBytes(3).toString('hex')}`
    mkdirSync(path.join(this.folder, id), { recursive: true, mode: 0o700 })
    this.#append(id, { type: 'schedule:added', schedule: { ...schedule, id } }, now)
    return this.get(id)
  }

  /** Changes everything but the project and the kind of work. A running run is not affected. */
  change(id: string, input: Omit<NewSchedule, 'project'>, now = Date.now()): ScheduleState {
    const { schedule: before } = this.get(id)
    const schedule = withDefaults({ ...input, project: before.project })
    if (schedule.what.kind !== before.what.kind)
      throw loopError(
        'schedule-refused',
        `"${before.name}" runs a ${before.what.kind}, and that cannot be changed. Add another one.`,
      )
    if (!isSameTime(schedule.when, before.when)) requireTimes(schedule.when, now)
    this.#append(id, { type: 'schedule:changed', schedule: { ...schedule, id } }, now)
    return this.get(id)
  }

  pause(id: string): ScheduleState {
    if (!this.get(id).isPaused) this.#append(id, { type: 'schedule:paused' })
    return this.get(id)
  }

  resume(id: string, now = Date.now()): ScheduleState {
    if (this.get(id).isPaused) this.#append(id, { type: 'schedule:resumed' }, now)
    return this.get(id)
  }

  /** Removes a schedule. Its journal moves to `removed`, which keeps the last 50. A running run continues. */
  remove(id: string): void {
    this.get(id)
    this.#append(id, { type: 'schedule:removed' })
    const removed = path.join(this.folder, 'removed')
    mkdirSync(removed, { recursive: true, mode: 0o700 })
    renameSync(path.join(this.folder, id), path.join(removed, id))
    this.#journals.delete(id)
    keepNewest(removed, KEPT_REMOVED)
  }

  /** Asks for a run now, beside its times. Refused while one runs. */
  ask(id: string): ScheduleState {
    const { schedule, runs, asked } = this.get(id)
    if (asked > 0 || (schedule.overlap === 'skip' && runs.some(({ receipt }) => receipt === null)))
      throw loopError('schedule-refused', `"${schedule.name}" runs. Wait until that run is over.`)
    this.#append(id, { type: 'run:asked' })
    return this.get(id)
  }

  /** Records the ids of everything that a run will make, before it is made. `open` is a loop to resume. */
  claim(
    id: string,
    { due, until, why }: Extract<DueWork, { do: 'run' }>,
    { now, open }: { now: number; open?: { loopId: string; before: LoopSpent } | undefined },
  ): ScheduleRun {
    const { what } = this.get(id).schedule
    const run = randomUUID()
    const names =
      what.kind === 'loop'
        ? (open ?? { loopId: newLoopId(what.list) })
        : {
            sessionId: randomUUID(),
            worktreeId: what.worktree ? `${id.slice(0, 40)}-${run.slice(0, 8)}` : undefined,
          }
    const times = { due: new Date(due).toISOString(), until: new Date(until).toISOString() }
    this.#append(id, { type: 'run:claimed', run, ...times, why, ...names }, now)
    const claimed = this.get(id).runs.find(one => one.run === run)
    if (claimed === undefined) throw loopError('schedule-missing', `There is no schedule ${id}.`)
    return claimed
  }

  skip(id: string, { due, times, why }: Extract<DueWork, { do: 'skip' }>): void {
    this.#append(id, { type: 'run:skipped', due: new Date(due).toISOString(), times, why })
  }

  /** Does nothing if the schedule was removed meanwhile. */
  end(id: string, run: string, receipt: RunReceipt): void {
    if (this.find(id) !== undefined) this.#append(id, { type: 'run:ended', run, receipt })
  }

  /**
   * Shortens the journals of all schedules. Only for the process that runs them. A journal that cannot be shortened is
   * used as it is. States that were read before are no longer updated.
   */
  compact(onFault: (error: unknown) => void, now = Date.now()): void {
    for (const { schedule } of this.list())
      try {
        this.#journal(schedule.id).compact(now)
      } catch (error) {
        onFault(error)
      }
  }

  #append(id: string, entry: ScheduleEntry, now = Date.now()): void {
    this.#journal(id).append(entry, now)
  }

  #journal(id: string): ScheduleJournal {
    const known = this.#journals.get(id)
    if (known !== undefined) return known
    const journal = new ScheduleJournal(path.join(this.folder, id))
    this.#journals.set(id, journal)
    return journal
  }
}

const ID = /^[a-z0-9][a-z0-9-]{0,60}$/
const MAX_SCHEDULES = 200
/** Number of removed schedules whose journals are kept. */
const KEPT_REMOVED = 50
const ANSWER_MINUTES = 30

/** Orders by the time of each journal's last entry, which the removal wrote. */
function keepNewest(folder: string, count: number): void {
  const times = readdirSync(folder)
    .filter(name => ID.test(name))
    .map(name => ({ name, at: lastChange(path.join(folder, name)) }))
  for (const { name } of times.sort((a, b) => b.at - a.at).slice(count))
    rmSync(path.join(folder, name), { recursive: true, force: true })
}

function lastChange(folder: string): number {
  const times = readdirSync(folder).map(name => lstatSync(path.join(folder, name)).mtimeMs)
  return Math.max(0, ...times)
}

function withDefaults(input: NewSchedule): Omit<Schedule, 'id'> {
  const {
    missed = 'skip',
    overlap = 'skip',
    answerMinutes = ANSWER_MINUTES,
    ...rest
  } = NEW_SCHEDULE.parse(input)
  return { ...rest, missed, overlap, answerMinutes, keepRuns: rest.keepRuns ?? KEEP_RUNS }
}
