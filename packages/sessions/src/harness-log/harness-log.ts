import { join } from 'node:path'
import { errnoOf, type FileOps, OPEN, openRegular, realFileOps, writeAll } from '@chirality/disk'
import type { RunnerLogEntry } from '@chirality/runner'
import { ensureProjectFolder } from '../files/project-folder.ts'
import { createRedactor, type Redactor } from './redact.ts'
import {
  cleanData,
  type HarnessLogRow,
  type LogEntry,
  type LogLevel,
  ROW_LEVELS,
  rowData,
  runnerData,
} from './rows.ts'

export interface HarnessLogOptions {
  /** Values to redact in addition to those that look like secrets. */
  secrets?: Iterable<string>
  now?: () => Date
  maxBytes?: number
  ops?: FileOps
}

/**
 * `.chirality/logs/harness.log`: what the program did, one JSON object per line, for troubleshooting. Writing never
 * throws and never blocks; lines that could not be written are counted and reported later.
 */
export class HarnessLog {
  readonly path: string
  readonly #projectRoot: string
  readonly #redact: Redactor
  readonly #now: () => Date
  readonly #maxBytes: number
  readonly #ops: FileOps
  #open: { fd: number; ino: number; size: number } | undefined
  #dropped = 0
  /** The last write failed and may have left a partial line; the next line must start on a new one. */
  #torn = false

  private constructor(projectRoot: string, folder: string, options: HarnessLogOptions) {
    this.path = join(folder, 'harness.log')
    this.#projectRoot = projectRoot
    this.#redact = createRedactor(options.secrets)
    this.#now = options.now ?? (() => new Date())
    this.#maxBytes = options.maxBytes ?? MAX_LOG_BYTES
    this.#ops = options.ops ?? realFileOps
  }

  static async open(projectRoot: string, options: HarnessLogOptions = {}): Promise<HarnessLog> {
    return new HarnessLog(projectRoot, await ensureProjectFolder(projectRoot, LOGS_FOLDER), options)
  }

  write(sessionId: string, row: HarnessLogRow): void {
    this.#entry(sessionId, { level: ROW_LEVELS[row.event], event: row.event, data: rowData(row) })
  }

  /** Writes the entry that a harness passed to `onLog`. */
  relay(entry: RunnerLogEntry): void {
    const { level, event, sessionId = '' } = entry
    this.#entry(sessionId, { level, event, data: runnerData(entry) })
  }

  close(): void {
    if (this.#open === undefined) return
    const { fd } = this.#open
    this.#open = undefined
    try {
      this.#ops.close(fd)
    } catch {
      // An error here cannot be reported anywhere.
    }
  }

  #entry(sessionId: string, { level, event, data }: RunnerLogEntry): void {
    try {
      if (this.#dropped > 0) {
        this.#append(this.#line('', 'warn', { event: 'log:dropped', data: { count: this.#dropped } }))
        this.#dropped = 0
      }
      this.#append(this.#line(sessionId, level, { event, data }))
    } catch (error) {
      this.#dropped += 1
      this.close()
      // The folder was deleted. It is created again for the next line.
      if (errnoOf(error) === 'ENOENT')
        void ensureProjectFolder(this.#projectRoot, LOGS_FOLDER).catch(() => {})
    }
  }

  #line(
    sessionId: string,
    level: LogLevel,
    { event, data }: { event: string; data?: Record<string, unknown> },
  ) {
    const entry: LogEntry = { timestamp: this.#now().toISOString(), sessionId, level, event }
    if (data !== undefined) entry.data = cleanData(data, this.#redact)
    return Buffer.from(`${JSON.stringify(entry)}\n`)
  }

  #append(line: Buffer): void {
    let file = this.#current()
    if (file.size > 0 && file.size + line.length > this.#maxBytes) {
      this.close()
      this.#ops.rename(this.path, `${this.path}.1`)
      file = this.#current()
    }
    const torn = this.#torn
    this.#torn = true
    writeAll(this.#ops, file.fd, torn ? Buffer.concat([NEWLINE, line]) : line)
    this.#torn = false
  }

  /** Another process may have rotated the file, or the user may have deleted it. */
  #current() {
    const named = this.#ops.lstat(this.path)
    if (this.#open !== undefined && named?.ino === this.#open.ino) {
      this.#open.size = named.size
      return this.#open
    }
    this.close()
    const fd = openRegular(this.#ops, this.path, OPEN.appendOrCreate)
    const { ino, size } = this.#ops.stat(fd)
    this.#open = { fd, ino, size }
    return this.#open
  }
}

const NEWLINE = Buffer.from('\n')
const LOGS_FOLDER = 'logs'
const MAX_LOG_BYTES = 10 * 1024 * 1024
