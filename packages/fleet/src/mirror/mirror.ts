import {
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { KeyedQueue } from '@chirality/disk'
import { openSessionLog, removeSessionLog, type SessionLog } from '@chirality/sessions'
import type { StoredMessage } from '../engine/follower.ts'
import { logPath } from '../ship/shipper.ts'
import { parseSubject } from '../subjects.ts'

export interface MirrorOptions {
  /** The folder of the mirrored logs, with one folder for each machine. */
  folder: string
  /** Asks the machine itself for bytes that the stream does not have. Undefined if it cannot be reached. */
  fetch: (machine: string, session: string, from: number) => Promise<Buffer | undefined>
}

/** What arrived of a line that is not whole yet. It stays in the stream until it is. */
interface OpenLine {
  parts: Buffer[]
  length: number
  /** The first message of it. */
  seq: number
}

/** A log that lacks something before a part that came: its machine is asked for it. Another part makes another one. */
interface Hole {
  machine: string
  session: string
}

/**
 * The logs of other machines, byte for byte, as files that all readers of logs can read. Every part says where it
 * belongs, so one that comes twice changes nothing.
 */
export class Mirror {
  readonly #options: MirrorOptions
  readonly #logs = new Map<string, Promise<SessionLog>>()
  readonly #lines = new Map<string, OpenLine>()
  readonly #holes = new Map<string, Hole>()
  readonly #filling = new Map<string, Promise<void>>()
  /** The parts of one log are added one after the other, whoever brings them. */
  readonly #turns = new KeyedQueue()
  /** The last message that each log had a part of, since this hub runs. */
  readonly #takenAt = new Map<string, number>()
  /** Logs of sessions that were deleted: what is on its way of them is not kept. The newest, up to a number. */
  readonly #deleted = new Set<string>()
  #closed = false

  constructor(options: MirrorOptions) {
    this.#options = options
    for (const machine of namesIn(options.folder))
      for (const session of namesIn(join(options.folder, machine, HOLES)))
        if (isSession(session)) this.#holes.set(keyOf(machine, session), { machine, session })
  }

  /** A project folder for readers of logs. */
  root(machine: string): string {
    const root = join(this.#options.folder, machine)
    mkdirSync(root, { recursive: true, mode: 0o700 })
    return root
  }

  has(machine: string, session: string): boolean {
    return existsSync(logPath(join(this.#options.folder, machine), session))
  }

  /** The log, to read and to wait for. Close it. */
  log(machine: string, session: string): Promise<SessionLog> {
    const root = this.root(machine)
    if (!this.#logs.has(keyOf(machine, session))) cutToLines(logPath(root, session))
    return openSessionLog(root, session)
  }

  /** From where the stream has to be read again after a restart. */
  safeCursor(cursor: number): number {
    return Math.min(cursor, ...[...this.#lines.values()].map(({ seq }) => seq - 1))
  }

  async take(message: StoredMessage): Promise<void> {
    const { machine, session } = parseSubject(message.subject) ?? {}
    const from = Number(message.headers['Chi-From'])
    // Whatever a machine sends under its own name stays in its own folder; what is malformed is no log.
    if (machine === undefined || session === undefined || !isSession(session)) return
    if (!Number.isSafeInteger(from) || from < 0 || from > MAX_LOG_BYTES) return
    const key = keyOf(machine, session)
    const bytes = Buffer.from(message.body)
    this.#takenAt.set(key, message.seq)
    const isAdded = await this.#turns.run(key, () =>
      this.#add({ machine, session, from, bytes, seq: message.seq }),
    )
    if (isAdded || this.#deleted.has(key)) return
    this.#remember({ machine, session })
    // The other logs do not wait for the answer of this machine.
    void this.#fill(machine, session)
  }

  /** Asks a machine, which is there again, for what it has before the parts that came. */
  async fillHoles(machine: string): Promise<void> {
    const holes = [...this.#holes.values()].filter(hole => hole.machine === machine)
    await Promise.all(holes.map(({ session }) => this.#fill(machine, session)))
  }

  /** Its machine deleted the session. Readers of the log end. */
  async delete(machine: string, session: string): Promise<void> {
    if (!isSession(session)) return
    const key = keyOf(machine, session)
    this.#noteDeleted(key)
    this.#holes.delete(key)
    await this.#turns.run(key, async () => {
      this.#lines.delete(key)
      await this.#forget(key)
      const root = join(this.#options.folder, machine)
      if (!existsSync(root)) return
      rmSync(join(root, HOLES, session), { force: true })
      for (const name of namesIn(join(root, REPLACED)))
        if (name.startsWith(`${session}-`)) rmSync(join(root, REPLACED, name), { force: true })
      await removeSessionLog(root, session)
    })
  }

  #noteDeleted(key: string): void {
    this.#deleted.delete(key)
    this.#deleted.add(key)
    for (const oldest of this.#deleted) {
      if (this.#deleted.size <= MAX_DELETED) return
      this.#deleted.delete(oldest)
    }
  }

  /** The sessions of a machine whose logs are here, without those of which a part came after a message. */
  sessions(machine: string, upTo: number): string[] {
    const names = namesIn(dirname(logPath(join(this.#options.folder, machine), '')))
    const logs = names.flatMap(name => /^(.+)\.ndjson$/.exec(name)?.[1] ?? [])
    return logs.filter(session => (this.#takenAt.get(keyOf(machine, session)) ?? 0) <= upTo)
  }

  /** The folder of a machine that was forgotten, and whose logs were deleted. */
  drop(machine: string): void {
    rmSync(join(this.#options.folder, machine), { recursive: true, force: true })
  }

  /** The machines whose log of a session is here. */
  machinesWith(session: string): string[] {
    return namesIn(this.#options.folder).filter(machine => this.has(machine, session))
  }

  /** A machine says again that it has a session that was deleted there: its log is fetched. */
  returned(machine: string, session: string): void {
    if (!this.#deleted.delete(keyOf(machine, session))) return
    this.#remember({ machine, session })
    void this.#fill(machine, session)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#turns.settled()
    const logs = await Promise.all(this.#logs.values())
    this.#logs.clear()
    await Promise.all(logs.map(log => log.close()))
  }

  #remember(hole: Hole): void {
    const { machine, session } = hole
    const key = keyOf(machine, session)
    const isKnown = this.#holes.has(key)
    this.#holes.set(key, hole)
    if (isKnown) return
    // After a restart the stream is read behind the hole, and nothing else would say that there is one.
    mkdirSync(join(this.root(machine), HOLES), { recursive: true, mode: 0o700 })
    writeFileSync(join(this.root(machine), HOLES, session), '', { mode: 0o600 })
  }

  #fill(machine: string, session: string): Promise<void> {
    const key = keyOf(machine, session)
    const running = this.#filling.get(key)
    if (running !== undefined) return running
    const filling = this.#ask(machine, session)
      // What could not be written stays a hole, and is tried with the next part or when the machine is heard.
      .catch(() => {})
      .finally(() => this.#filling.delete(key))
    this.#filling.set(key, filling)
    return filling
  }

  /** One piece after the other, and no more in one go than a machine can have by mistake. */
  async #ask(machine: string, session: string): Promise<void> {
    const key = keyOf(machine, session)
    for (let asked = 0; asked < MAX_PIECES && !this.#closed; asked += 1) {
      const have = await this.#turns.run(key, async () => {
        // Opening it would make it anew.
        if (this.#deleted.has(key)) return 0
        const log = await this.#open(machine, session)
        return statSync(log.path).size + (this.#lines.get(key)?.length ?? 0)
      })
      const hole = this.#holes.get(key)
      if (hole === undefined) return
      const bytes = await this.#options.fetch(machine, session, have)
      // It is away.
      if (bytes === undefined || this.#closed) return
      if (bytes.length > 0 && have < MAX_LOG_BYTES)
        // Not in the stream, so the cursor does not depend on it.
        await this.#turns.run(key, () =>
          this.#add({ machine, session, from: have, bytes, seq: Number.POSITIVE_INFINITY }),
        )
      // An empty answer: it has no more than that, whatever its messages said.
      else if (this.#holes.get(key) === hole) {
        this.#holes.delete(key)
        rmSync(join(this.root(machine), HOLES, session), { force: true })
      }
    }
  }

  /** False if something is missing before it. */
  async #add(part: {
    machine: string
    session: string
    from: number
    bytes: Buffer
    seq: number
  }): Promise<boolean> {
    const { machine, session, from, seq } = part
    const key = keyOf(machine, session)
    if (this.#deleted.has(key)) return true
    const log = await this.#open(machine, session)
    const size = statSync(log.path).size
    const line = this.#lines.get(key)
    const have = size + (line?.length ?? 0)
    if (from > have) return false
    if (from < have) {
      const known = part.bytes.subarray(0, have - from)
      const inFile = known.subarray(0, Math.max(0, size - from))
      const isSameFile = inFile.length === 0 || isSame(log.path, from, inFile)
      const inLine = Buffer.concat(line?.parts ?? []).subarray(Math.max(0, from - size))
      if (
        isSameFile &&
        inLine.subarray(0, known.length - inFile.length).equals(known.subarray(inFile.length))
      ) {
        const bytes = part.bytes.subarray(known.length)
        return bytes.length === 0 || this.#add({ ...part, from: have, bytes })
      }
      // Its machine wrote the log anew, or what came of the line was of another one.
      this.#lines.delete(key)
      if (!isSameFile) await this.#replace(machine, session)
      return this.#add(part)
    }
    const lastLine = part.bytes.lastIndexOf(NEWLINE)
    if (lastLine === -1) {
      const open = line ?? { parts: [], length: 0, seq }
      if (open.length + part.bytes.length > MAX_LINE_BYTES) {
        this.#lines.delete(key)
        return true
      }
      open.parts.push(part.bytes)
      open.length += part.bytes.length
      this.#lines.set(key, open)
      return true
    }
    const whole = part.bytes.subarray(0, lastLine + 1)
    try {
      log.appendLines(line === undefined ? whole : Buffer.concat([...line.parts, whole]))
    } catch (error) {
      await this.#forget(key)
      throw error
    }
    this.#lines.delete(key)
    const rest = part.bytes.subarray(lastLine + 1)
    if (rest.length > 0) this.#lines.set(key, { parts: [rest], length: rest.length, seq })
    return true
  }

  #open(machine: string, session: string): Promise<SessionLog> {
    const key = keyOf(machine, session)
    const known = this.#logs.get(key)
    if (known !== undefined) return known
    const opened = this.log(machine, session)
    this.#logs.set(key, opened)
    opened.catch(() => this.#logs.delete(key))
    for (const old of this.#logs.keys()) {
      if (this.#logs.size <= MAX_OPEN || old === key) break
      void this.#forget(old)
    }
    return opened
  }

  async #forget(key: string): Promise<void> {
    const log = this.#logs.get(key)
    this.#logs.delete(key)
    await log?.then(open => open.close()).catch(() => {})
  }

  /** The log of the machine is another one now. What was mirrored stays beside it. */
  async #replace(machine: string, session: string): Promise<void> {
    await this.#forget(keyOf(machine, session))
    const root = this.root(machine)
    const aside = join(root, REPLACED)
    mkdirSync(aside, { recursive: true, mode: 0o700 })
    let number = 1
    while (existsSync(join(aside, `${session}-${number}.ndjson`))) number += 1
    copyFileSync(logPath(root, session), join(aside, `${session}-${number}.ndjson`))
    // Its readers end, and begin again with the new one.
    await removeSessionLog(root, session)
  }
}

const NEWLINE = 0x0a
const MAX_OPEN = 256
const MAX_DELETED = 20_000
const HOLES = 'holes'
const REPLACED = 'replaced'
/** No log is as large: a place behind it is none. */
const MAX_LOG_BYTES = 4 * 1024 ** 3
/** Of 256 KB each. */
const MAX_PIECES = 4_096
/** No event is as large: a longer line is no log. */
const MAX_LINE_BYTES = 256 * 1024 * 1024

function keyOf(machine: string, session: string): string {
  return `${machine}/${session}`
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

export function isSession(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id)
}

/** A process that was killed can leave half a line. It comes again. */
function cutToLines(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return
  const fd = openSync(path, 'r+')
  try {
    const buffer = Buffer.allocUnsafe(64 * 1024)
    for (let end = size; end > 0; ) {
      const length = Math.min(buffer.length, end)
      const read = readSync(fd, buffer, 0, length, end - length)
      const at = buffer.subarray(0, read).lastIndexOf(NEWLINE)
      if (at !== -1) {
        if (end - length + at + 1 < size) ftruncateSync(fd, end - length + at + 1)
        return
      }
      end -= length
    }
    ftruncateSync(fd, 0)
  } finally {
    closeSync(fd)
  }
}

function isSame(path: string, from: number, bytes: Buffer): boolean {
  const fd = openSync(path, 'r')
  try {
    const own = Buffer.allocUnsafe(bytes.length)
    let read = 0
    while (read < own.length) {
      const count = readSync(fd, own, read, own.length - read, from + read)
      if (count === 0) return false
      read += count
    }
    return own.equals(bytes)
  } finally {
    closeSync(fd)
  }
}
