import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { hasCode } from '@chirality/core'
import type { FileOps } from '@chirality/disk'
import { readFully } from '@chirality/disk'
import { parseSeq } from '../envelope-line.ts'
import { IndexFile } from '../index/index-file.ts'
import { indexLines } from '../index/index-lines.ts'
import { LineIndex } from '../index/line-index.ts'
import { loadIndex, matchesFile } from '../index/load-index.ts'
import type { Batch } from './batch.ts'
import { type FileState, LogFile, type LogFileOptions } from './log-file.ts'

export interface LogContentsOptions extends LogFileOptions {
  folder: string
  sessionId: string
}

/** The cause of a fault: a write, a sync, or a change by another program. */
export type Fault = 'write' | 'sync' | Exclude<FileState, 'sound'>

export interface Torn {
  file: string
  start: string
}

/** The log on disk with its index, and the repair of both. */
export class LogContents {
  readonly file: LogFile
  readonly #ops: FileOps
  readonly #indexPath: string
  #index: LineIndex

  private constructor(file: LogFile, index: LineIndex, options: LogContentsOptions) {
    this.file = file
    this.#index = index
    this.#ops = options.ops
    this.#indexPath = indexPath(options)
  }

  /**
   * Opens or creates the log and repairs its end. `torn` is an incomplete line without a number: how it starts, and the
   * file that it was moved to.
   */
  static async open(options: LogContentsOptions): Promise<{ contents: LogContents; torn?: Torn }> {
    const { ops, folder, sessionId } = options
    const file = await LogFile.open(join(folder, `${sessionId}.ndjson`), options)
    const indexFile = IndexFile.open(ops, indexPath(options), 'write')
    try {
      const index = loadIndex(indexFile, file, ops)
      const contents = new LogContents(file, index.trusted, options)
      const torn = await contents.#complete(index.lastSeq, index.maxSeq)
      return { contents, ...(torn === undefined ? {} : { torn }) }
    } catch (error) {
      indexFile.close()
      file.close()
      throw error
    }
  }

  get index(): LineIndex {
    return this.#index
  }

  /** Writes the batch if the path still leads to this file. */
  append(batch: Batch): FileState {
    const { bytes, lines } = batch.encode()
    // Bytes that belong to no line precede the batch: they are assigned to its first line.
    let junk = this.file.size - this.#index.bytes
    const state = this.file.write(bytes)
    if (state !== 'sound') return state
    for (const { length, crc } of lines) {
      this.#index.add(junk + length, crc, junk > 0)
      junk = 0
    }
    return 'sound'
  }

  /** Adds whole lines of a copy of this log as they are. They are indexed as if they had been found in the file. */
  appendLines(bytes: Uint8Array): FileState {
    const state = this.file.write(bytes)
    if (state !== 'sound') return state
    const steps = indexLines(this.#index, this.#scan())
    while (!steps.next().done);
    return 'sound'
  }

  /** Afterwards the log can be written to again, and `lastSeq` is unchanged. */
  async recover(fault: Fault, lastSeq: number): Promise<void> {
    if (fault === 'write') await this.file.reopen()
    else if (fault === 'changed') await this.file.reload()
    else await this.file.rewrite()
    if (fault !== 'changed' && this.file.size >= this.#index.bytes) return
    this.#index.close()
    this.#index = LineIndex.empty(IndexFile.open(this.#ops, this.#indexPath, 'write'))
    await this.#complete(lastSeq, lastSeq)
  }

  /** How many of these lines differ on the disk from what was written. */
  countWrong(from: number, to: number): number {
    const ranges = this.#index.ranges(from, to)
    return ranges.filter(range => !matchesFile(range, this.file.fd, this.#ops)).length
  }

  /**
   * Rebuilds the index while a caller waits. The old index is used where possible: a moved line is valid if its
   * checksum matches, and an altered one is not.
   */
  rebuildIndex(lastSeq: number): void {
    const old = this.#index
    try {
      this.#index = this.#scanAll(lastSeq, seq => old.crcOf(seq))
    } catch (error) {
      if (!hasCode(error, 'index-damaged')) throw error
      this.#index = this.#scanAll(lastSeq)
    }
    old.close()
    this.#index.moveTo(IndexFile.open(this.#ops, this.#indexPath, 'write'))
  }

  #scanAll(lastSeq: number, knownCrc?: (seq: number) => number | undefined): LineIndex {
    const index = LineIndex.empty(IndexFile.none(this.#ops))
    const { fd, size } = this.file
    const steps = indexLines(index, {
      ops: this.#ops,
      fd,
      size,
      maxSeq: lastSeq,
      ...(knownCrc && { knownCrc }),
    })
    while (!steps.next().done);
    index.addMissing(lastSeq - index.count)
    return index
  }

  close(): void {
    this.#index.close()
    this.file.close()
  }

  /** Indexes the lines that the index lacks, and handles an incomplete last line. */
  async #complete(lastSeq: number, maxSeq?: number): Promise<Torn | undefined> {
    this.#endLastLine()
    const steps = indexLines(this.#index, this.#scan(maxSeq))
    let step = steps.next()
    for (; !step.done; step = steps.next()) await setImmediate()
    const torn = step.value < this.file.size ? await this.#setAside(step.value) : undefined
    const missing = lastSeq - this.#index.count
    if (missing <= 0) return torn
    this.#index.addMissing(missing)
    return undefined
  }

  async #setAside(from: number): Promise<Torn> {
    const { fd, size } = this.file
    const buffer = Buffer.allocUnsafe(Math.min(size - from, MAX_TORN_START))
    const start = readFully(this.#ops, fd, { buffer, position: from }).toString('latin1')
    return { file: await this.file.setAside(from), start }
  }

  /** Adds the newline to a last line that lacks only that. */
  #endLastLine(): void {
    const { fd, size } = this.file
    const length = Math.min(size - this.#index.bytes, MAX_PARSED_BYTES)
    if (length <= 0) return
    const end = readFully(this.#ops, fd, { buffer: Buffer.allocUnsafe(1), position: size - 1 })
    if (end[0] === NEWLINE[0]) return
    const tail = readFully(this.#ops, fd, { buffer: Buffer.allocUnsafe(length), position: size - length })
    if (parseSeq(tail.subarray(tail.lastIndexOf(NEWLINE) + 1)) === undefined) return
    this.file.write(NEWLINE)
  }

  #scan(maxSeq?: number) {
    const { fd, size } = this.file
    return { ops: this.#ops, fd, size, ...(maxSeq === undefined ? {} : { maxSeq }) }
  }
}

const NEWLINE = Buffer.from('\n')
const MAX_TORN_START = 1024
const MAX_PARSED_BYTES = 16 * 1024 * 1024

function indexPath({ folder, sessionId }: LogContentsOptions): string {
  return join(folder, `${sessionId}.idx`)
}
