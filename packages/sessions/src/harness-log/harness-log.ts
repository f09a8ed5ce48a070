import { join } from 'node:path'
import { errnoOf, type RunnerLogEntry } from '@chirality/runner'
import { type FileOps, realFileOps } from '../files/file-ops.ts'
import { ensureProjectFolder } from '../files/project-folder.ts'
import { OPEN, openRegular, writeAll } from '../files/read-write.ts'
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
  /** Values that must never appear, whatever they look like. */
  secrets?: Iterable<string>
  now?: () => Date
  maxBytes?: number
  ops?: FileOps
}

/**
 * `.chirality/logs/harness.log`: what the program did, one JSON object a line, for people who look for a fault. Writing never
 * throws and never waits; what could not be written is counted, and told when it is possible again.
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
  /** The last write failed and may have left half a line, which the next must not be joined to. */
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

  /** Takes what a harness hands to its `onLog`. */
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
      // There is nowhere left to complain.
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
      // Somebody deleted the folder. It is back when the next line comes.
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

  /** Another process may have rotated the file, and somebody may have deleted it. */
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
