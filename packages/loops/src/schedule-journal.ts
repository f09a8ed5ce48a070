import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { isNodeError } from './files.ts'
import { applyScheduleEntry, type ScheduleEntry, type ScheduleState } from './schedule.ts'
import { readScheduleEntry } from './schedule-schema.ts'

/**
 * The facts about one schedule, one per line, in `journal.ndjson` and after growth in `journal-1.ndjson` and so on. A
 * later file starts with the state of the previous one up to a byte; entries that another process added after that byte
 * are read too, so nothing is lost without a lock. Only the last two files are kept.
 */
export class ScheduleJournal {
  readonly #folder: string
  #known: { files: string; state: ScheduleState | undefined; own: Cursor; before: Cursor } | undefined
  /** Length of the first line if it has the earlier state. */
  #keptBytes = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Reads entries added since the last call, also by other processes. Undefined if there is no journal. */
  read(): ScheduleState | undefined {
    const last = this.#last()
    if (last === undefined) return undefined
    const name = nameOf(last)
    const isSame = this.#known?.files === name && !this.#known.own.hasChanged(this.#file(last))
    if (!isSame) this.#known = { files: name, state: undefined, own: new Cursor(), before: new Cursor() }
    const known = this.#known
    if (known === undefined) return undefined
    const apply = (entries: Stamped[]) => {
      for (const entry of entries) known.state = applyScheduleEntry(known.state, entry)
    }
    const own = known.own.read(this.#file(last))
    const [first] = own
    if (!isSame) this.#keptBytes = 0
    if (!isSame && first?.type === 'schedule:kept') {
      this.#keptBytes = Buffer.byteLength(JSON.stringify(first)) + 1
      known.before.at = first.upTo
      apply(own.splice(0, 1))
    }
    // Entries added to the previous file by a process that did not know this one yet.
    if (last > 0 && known.state !== undefined) apply(known.before.read(this.#file(last - 1)))
    apply(own)
    return known.state
  }

  append(entry: ScheduleEntry, now: number): void {
    const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW } = constants
    const fd = openSync(this.#file(this.#last() ?? 0), O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600)
    try {
      const line = `${JSON.stringify({ at: new Date(now).toISOString(), ...entry })}\n`
      // An unfinished line of a killed process must not be joined with this one.
      const { size } = fstatSync(fd)
      const last = Buffer.alloc(1)
      const isTorn = size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
      writeSync(fd, isTorn ? `\n${line}` : line)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  }

  /**
   * Starts a new file when the last one has grown, and removes all files before the previous one. One process at a
   * time.
   */
  compact(now: number): void {
    const state = this.read()
    const last = this.#last()
    const upTo = this.#known?.own.at ?? 0
    if (state === undefined || last === undefined || upTo - this.#keptBytes < MAX_BYTES) return
    const entry = { at: new Date(now).toISOString(), type: 'schedule:kept', upTo, state }
    const made = path.join(this.#folder, `.${process.pid}.new`)
    rmSync(made, { force: true })
    const fd = openSync(made, 'wx', 0o600)
    try {
      writeFileSync(fd, `${JSON.stringify(entry)}\n`)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    this.#place(made, this.#file(last + 1))
    rmSync(made, { force: true })
    for (const number of this.#numbers()) if (number < last) rmSync(this.#file(number), { force: true })
  }

  /** Moves the file into place atomically, and never over an existing one. */
  #place(made: string, target: string): void {
    try {
      linkSync(made, target)
    } catch (error) {
      if (isNodeError(error, 'EEXIST')) return
      // A file system without hard links, such as exFAT. Only one process makes this file.
      if (!NO_LINKS.some(code => isNodeError(error, code))) throw error
      if (!existsSync(target)) renameSync(made, target)
    }
  }

  #last(): number | undefined {
    return this.#numbers().at(-1)
  }

  #numbers(): number[] {
    let names: string[]
    try {
      names = readdirSync(this.#folder)
    } catch (error) {
      if (isNodeError(error, 'ENOENT') || isNodeError(error, 'ENOTDIR')) return []
      throw error
    }
    return names
      .flatMap(name => {
        const found = FILE.exec(name)
        return found === null ? [] : [Number(found[1] ?? 0)]
      })
      .sort((a, b) => a - b)
  }

  #file(number: number): string {
    return path.join(this.#folder, nameOf(number))
  }
}

type Stamped = ScheduleEntry & { at: string }

/** Read position in a file. */
class Cursor {
  at = 0
  #inode: number | undefined

  /** True if the file was replaced or has become shorter. */
  hasChanged(file: string): boolean {
    const fd = openToRead(file)
    if (fd === undefined) return true
    try {
      const { ino, size } = fstatSync(fd)
      return (this.#inode !== undefined && this.#inode !== ino) || size < this.at
    } finally {
      closeSync(fd)
    }
  }

  /** Entries after the read position. */
  read(file: string): Stamped[] {
    const fd = openToRead(file)
    if (fd === undefined) return []
    try {
      const { ino, size } = fstatSync(fd)
      this.#inode = ino
      const bytes = Buffer.alloc(Math.max(0, size - this.at))
      let length = 0
      for (let got = -1; got !== 0 && length < bytes.length; length += got)
        got = readSync(fd, bytes, length, bytes.length - length, this.at + length)
      // Text after the last line break is unfinished.
      const end = bytes.lastIndexOf(0x0a, length) + 1
      this.at += end
      return entriesIn(bytes.toString('utf8', 0, end))
    } finally {
      closeSync(fd)
    }
  }
}

function openToRead(file: string): number | undefined {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (isNodeError(error, 'ENOENT') || isNodeError(error, 'ENOTDIR')) return undefined
    throw error
  }
}

function entriesIn(text: string): Stamped[] {
  return text.split('\n').flatMap(line => (line === '' ? [] : (readScheduleEntry(line) ?? [])))
}

function nameOf(number: number): string {
  return number === 0 ? 'journal.ndjson' : `journal-${number}.ndjson`
}

const FILE = /^journal(?:-([1-9]\d{0,8}))?\.ndjson$/
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']
/** Fits some hundreds of runs. */
const MAX_BYTES = 256 * 1024
