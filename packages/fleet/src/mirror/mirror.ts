import {
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
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

/**
 * The logs of other machines, byte for byte, as files that all readers of logs can read. Every part says where it
 * belongs, so one that comes twice changes nothing.
 */
export class Mirror {
  readonly #options: MirrorOptions
  readonly #logs = new Map<string, Promise<SessionLog>>()
  readonly #lines = new Map<string, OpenLine>()

  constructor(options: MirrorOptions) {
    this.#options = options
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
    if (!Number.isSafeInteger(from) || from < 0) return
    await this.#add({ machine, session, from, bytes: Buffer.from(message.body), seq: message.seq })
  }

  async close(): Promise<void> {
    const logs = await Promise.all(this.#logs.values())
    this.#logs.clear()
    await Promise.all(logs.map(log => log.close()))
  }

  async #add(part: {
    machine: string
    session: string
    from: number
    bytes: Buffer
    seq: number
  }): Promise<void> {
    const { machine, session, from, seq } = part
    const key = keyOf(machine, session)
    const log = await this.#open(machine, session)
    const size = statSync(log.path).size
    const line = this.#lines.get(key)
    const have = size + (line?.length ?? 0)
    if (from > have) {
      const missing = await this.#options.fetch(machine, session, have)
      // The machine is away: the next part of this log asks again.
      if (missing === undefined || missing.length === 0) return
      await this.#add({ machine, session, from: have, bytes: missing, seq })
      return this.#add(part)
    }
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
        return bytes.length === 0 ? undefined : this.#add({ ...part, from: have, bytes })
      }
      // Its machine wrote the log anew, or what came of the line was of another one.
      this.#lines.delete(key)
      if (!isSameFile) await this.#replace(machine, session)
      return this.#add(part)
    }
    const lastLine = part.bytes.lastIndexOf(NEWLINE)
    if (lastLine === -1) {
      const open = line ?? { parts: [], length: 0, seq }
      if (open.length + part.bytes.length > MAX_LINE_BYTES) return void this.#lines.delete(key)
      open.parts.push(part.bytes)
      open.length += part.bytes.length
      this.#lines.set(key, open)
      return
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
    const aside = join(root, 'replaced')
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
/** No event is as large: a longer line is no log. */
const MAX_LINE_BYTES = 256 * 1024 * 1024

function keyOf(machine: string, session: string): string {
  return `${machine}/${session}`
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
