import { randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { isNodeError } from './files.ts'
import { newLoopId } from './loop-book.ts'
import { loopError } from './loop-error.ts'
import {
  applyScheduleEntry,
  type DueWork,
  type LoopSpent,
  NEW_SCHEDULE,
  type NewSchedule,
  type RunReceipt,
  requireTimes,
  type ScheduleEntry,
  type ScheduleRun,
  type ScheduleState,
} from './schedule.ts'
import { slugOf } from './task-list.ts'

/**
 * The schedules of a user: `schedules/<id>/journal.ndjson` in the data folder, one fact a line, only ever appended. They
 * are never in a project: a clone must not bring anything that runs by itself.
 */
export class ScheduleBook {
  readonly folder: string
  readonly #known = new Map<string, { inode: number; read: number; state: ScheduleState | undefined }>()

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
          // One that cannot be read must not hide the others.
          return []
        }
      })
    return states.sort((a, b) => (a.addedAt < b.addedAt ? -1 : 1))
  }

  /** Reads what was added since the last time, also by another process. Undefined if there is none, or it was removed. */
  find(id: string): ScheduleState | undefined {
    if (!ID.test(id)) return undefined
    let fd: number
    try {
      fd = openSync(this.#file(id), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    } catch (error) {
      if (isNodeError(error, 'ENOENT') || isNodeError(error, 'ENOTDIR')) return undefined
      throw error
    }
    try {
      const { ino, size } = fstatSync(fd)
      const before = this.#known.get(id)
      const isSame = before?.inode === ino && before.read <= size
      const known = before !== undefined && isSame ? before : { inode: ino, read: 0, state: undefined }
      const bytes = Buffer.alloc(size - known.read)
      let length = 0
      for (let got = -1; got !== 0 && length < bytes.length; length += got)
        got = readSync(fd, bytes, length, bytes.length - length, known.read + length)
      // What follows the last line break is not finished.
      const end = bytes.lastIndexOf(0x0a, length) + 1
      for (const entry of entriesIn(bytes.toString('utf8', 0, end)))
        known.state = applyScheduleEntry(known.state, entry)
      known.read += end
      this.#known.set(id, known)
      return known.state?.isRemoved === true ? undefined : known.state
    } finally {
      closeSync(fd)
    }
  }

  /** By its id, the beginning of it, or its name. */
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
    const {
      missed = 'skip',
      overlap = 'skip',
      answerMinutes = ANSWER_MINUTES,
      ...rest
    } = NEW_SCHEDULE.parse(input)
    requireTimes(rest.when, now)
    if (this.list().length >= MAX_SCHEDULES)
      throw loopError('schedule-refused', `There are ${MAX_SCHEDULES} schedules already. Remove one first.`)
    const id = `${slugOf(rest.name).slice(0, 24)}-${randomBytes(3).toString('hex')}`
    mkdirSync(path.join(this.folder, id), { recursive: true, mode: 0o700 })
    this.#append(
      id,
      { type: 'schedule:added', schedule: { ...rest, id, missed, overlap, answerMinutes } },
      now,
    )
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

  /** Its journal is kept, in `removed`. What runs goes on. */
  remove(id: string): void {
    this.get(id)
    this.#append(id, { type: 'schedule:removed' })
    const removed = path.join(this.folder, 'removed')
    mkdirSync(removed, { recursive: true, mode: 0o700 })
    renameSync(path.join(this.folder, id), path.join(removed, id))
    this.#known.delete(id)
  }

  /** Run it now, beside its times. Refused while it runs. */
  ask(id: string): ScheduleState {
    const { schedule, runs, asked } = this.get(id)
    if (asked > 0 || (schedule.overlap === 'skip' && runs.some(({ receipt }) => receipt === null)))
      throw loopError('schedule-refused', `"${schedule.name}" runs. Wait until that run is over.`)
    this.#append(id, { type: 'run:asked' })
    return this.get(id)
  }

  /** Names everything that a run will make, before it is made. `open` is a loop that is gone on with. */
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
            ...(what.worktree ? { worktreeId: `${id.slice(0, 40)}-${run.slice(0, 8)}` } : {}),
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

  /** Nothing happens if the schedule was removed in the meantime. */
  end(id: string, run: string, receipt: RunReceipt): void {
    if (this.find(id) !== undefined) this.#append(id, { type: 'run:ended', run, receipt })
  }

  #file(id: string): string {
    return path.join(this.folder, id, 'journal.ndjson')
  }

  #append(id: string, entry: ScheduleEntry, now = Date.now()): void {
    const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW } = constants
    const fd = openSync(this.#file(id), O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600)
    try {
      const line = `${JSON.stringify({ at: new Date(now).toISOString(), ...entry })}\n`
      // A line that a killed process did not finish must not be joined with this one.
      const { size } = fstatSync(fd)
      const last = Buffer.alloc(1)
      const isTorn = size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
      writeSync(fd, isTorn ? `\n${line}` : line)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  }
}

function entriesIn(text: string): (ScheduleEntry & { at: string })[] {
  return text.split('\n').flatMap(line => {
    try {
      const entry: unknown = line === '' ? undefined : JSON.parse(line)
      return typeof entry === 'object' && entry !== null && 'type' in entry && 'at' in entry
        ? [entry as ScheduleEntry & { at: string }]
        : []
    } catch {
      return []
    }
  })
}

const ID = /^[a-z0-9][a-z0-9-]{0,60}$/
const MAX_SCHEDULES = 200
const ANSWER_MINUTES = 30
