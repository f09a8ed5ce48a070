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
  /** Folder of the mirrored logs, with one folder per machine. */
  folder: string
  /** Fetches bytes that the stream does not have from the machine itself. Undefined if it cannot be reached. */
  fetch: (machine: string, session: string, from: number) => Promise<Buffer | undefined>
}

/** The part of an incomplete line that has arrived. Its messages stay in the stream until the line is complete. */
interface OpenLine {
  parts: Buffer[]
  length: number
  /** Its first message. */
  seq: number
}

/**
 * A log that lacks bytes before a part that arrived, so its machine is asked for them. A further part replaces the
 * entry by a new one.
 */
interface Hole {
  machine: string
  session: string
}

/**
 * Mirrors the logs of other machines byte for byte into files that all log readers can use. Every part carries its
 * offset, so a repeated part changes nothing.
 */
export class Mirror {
  readonly #options: MirrorOptions
  readonly #logs = new Map<string, Promise<SessionLog>>()
  readonly #lines = new Map<string, OpenLine>()
  readonly #holes = new Map<string, Hole>()
  readonly #filling = new Map<string, Promise<void>>()
  /** Appends to one log one at a time, whether the part came from the stream or was fetched. */
  readonly #turns = new KeyedQueue()
  /** The last message with a part of each log since this hub runs. */
  readonly #takenAt = new Map<string, number>()
  /**
   * Logs of deleted sessions: parts that are still on their way are dropped. Keeps the newest entries up to a limit.
   */
  readonly #deleted = new Set<string>()
  #closed = false

  constructor(options: MirrorOptions) {
    this.#options = options
    for (const machine of namesIn(options.folder))
      for (const session of namesIn(join(options.folder, machine, HOLES)))
        if (isSession(session)) this.#holes.set(keyOf(machine, session), { machine, session })
  }

  /** Folder of a machine's mirrored logs, for readers of logs. */
  root(machine: string): string {
    const root = join(this.#options.folder, machine)
    mkdirSync(root, { recursive: true, mode: 0o700 })
    return root
  }

  has(machine: string, session: string): boolean {
    return existsSync(logPath(join(this.#options.folder, machine), session))
  }

  /** Opens the log for reading and waiting. The caller closes it. */
  log(machine: string, session: string): Promise<SessionLog> {
    const root = this.root(machine)
    if (!this.#logs.has(keyOf(machine, session))) cutToLines(logPath(root, session))
    return openSessionLog(root, session)
  }

  /** Position from which the stream has to be read again after a restart. */
  safeCursor(cursor: number): number {
    return Math.min(cursor, ...[...this.#lines.values()].map(({ seq }) => seq - 1))
  }

  async take(message: StoredMessage): Promise<void> {
    const { machine, session } = parseSubject(message.subject) ?? {}
    const from = Number(message.headers['Chi-From'])
    // The machine's name fixes its folder, whatever it sends; malformed parts are no log.
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

  /** Asks a machine that returned for the bytes missing before the parts that arrived. */
  async fillHoles(machine: string): Promise<void> {
    const holes = [...this.#holes.values()].filter(hole => hole.machine === machine)
    await Promise.all(holes.map(({ session }) => this.#fill(machine, session)))
  }

  /** Removes the log of a session that its machine deleted. Open readers of it end. */
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

  /** Sessions of a machine whose logs are here, without those that got a part after message `upTo`. */
  sessions(machine: string, upTo: number): string[] {
    const names = namesIn(dirname(logPath(join(this.#options.folder, machine), '')))
    const logs = names.flatMap(name => /^(.+)\.ndjson$/.exec(name)?.[1] ?? [])
    return logs.filter(session => (this.#takenAt.get(keyOf(machine, session)) ?? 0) <= upTo)
  }

  /** Removes the folder of a machine that was forgotten, after its logs were deleted. */
  drop(machine: string): void {
    rmSync(join(this.#options.folder, machine), { recursive: true, force: true })
  }

  /** Machines whose log of a session is here. */
  machinesWith(session: string): string[] {
    return namesIn(this.#options.folder).filter(machine => this.has(machine, session))
  }

  /** Fetches the log of a session that its machine reports again after deleting it. */
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
    // Written to the disk, because after a restart the stream is read from behind the hole and nothing else records it.
    mkdirSync(join(this.root(machine), HOLES), { recursive: true, mode: 0o700 })
    writeFileSync(join(this.root(machine), HOLES, session), '', { mode: 0o600 })
  }

  #fill(machine: string, session: string): Promise<void> {
    const key = keyOf(machine, session)
    const running = this.#filling.get(key)
    if (running !== undefined) return running
    const filling = this.#ask(machine, session)
      // Bytes that could not be written stay a hole, and are tried again with the next part or beat.
      .catch(() => {})
      .finally(() => this.#filling.delete(key))
    this.#filling.set(key, filling)
    return filling
  }

  /** Fetches piece by piece, limited in number so that a faulty machine cannot send without end. */
  async #ask(machine: string, session: string): Promise<void> {
    const key = keyOf(machine, session)
    for (let asked = 0; asked < MAX_PIECES && !this.#closed; asked += 1) {
      const have = await this.#turns.run(key, async () => {
        // Opening the log would make it anew.
        if (this.#deleted.has(key)) return 0
        const log = await this.#open(machine, session)
        return statSync(log.path).size + (this.#lines.get(key)?.length ?? 0)
      })
      const hole = this.#holes.get(key)
      if (hole === undefined) return
      const bytes = await this.#options.fetch(machine, session, have)
      // The machine is away.
      if (bytes === undefined || this.#closed) return
      if (bytes.length > 0 && have < MAX_LOG_BYTES)
        // These bytes are not in the stream, so the cursor does not depend on them.
        await this.#turns.run(key, () =>
          this.#add({ machine, session, from: have, bytes, seq: Number.POSITIVE_INFINITY }),
        )
      // An empty answer: the machine has no more bytes, whatever its messages said.
      else if (this.#holes.get(key) === hole) {
        this.#holes.delete(key)
        rmSync(join(this.root(machine), HOLES, session), { force: true })
      }
    }
  }

  /** Appends a part. False if bytes before it are missing. */
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
      // The machine wrote its log anew, or the open line belonged to another version of it.
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

  /** Starts the mirror anew because the machine's log is another file now. The old mirror is kept beside it. */
  async #replace(machine: string, session: string): Promise<void> {
    await this.#forget(keyOf(machine, session))
    const root = this.root(machine)
    const aside = join(root, REPLACED)
    mkdirSync(aside, { recursive: true, mode: 0o700 })
    let number = 1
    while (existsSync(join(aside, `${session}-${number}.ndjson`))) number += 1
    copyFileSync(logPath(root, session), join(aside, `${session}-${number}.ndjson`))
    // Readers of the old log end and open the new one.
    await removeSessionLog(root, session)
  }
}

const NEWLINE = 0x0a
const MAX_OPEN = 256
const MAX_DELETED = 20_000
const HOLES = 'holes'
const REPLACED = 'replaced'
/** Upper bound of a log; an offset beyond it is invalid. */
const MAX_LOG_BYTES = 4 * 1024 ** 3
/** Limit of pieces per pass, 256 KB each. */
const MAX_PIECES = 4_096
/** Upper bound of an event; a longer line is no log. */
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

/** Cuts off half a line that a killed process left. The stream delivers it again. */
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
