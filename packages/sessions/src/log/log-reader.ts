import { crc32 } from 'node:zlib'
import type { Envelope } from '@chirality/core'
import type { FileOps } from '../files/file-ops.ts'
import { readFully } from '../files/read-write.ts'
import { decodeLine } from './envelope-line.ts'
import type { LineRange } from './index-block.ts'
import { IndexDamagedError, type LineIndex } from './line-index.ts'

export interface LogReaderOptions {
  ops: FileOps
  sessionId: string
  /** The file may be replaced under us, so it is asked for anew each time. */
  fd: () => number
  index: () => LineIndex
  /** Makes the index anew from the log. */
  rebuildIndex: () => void
}

/** Reads envelopes by number. What cannot be read back is told in its place by a `log:gap`. */
export class LogReader {
  readonly #options: LogReaderOptions

  constructor(options: LogReaderOptions) {
    this.#options = options
  }

  /** From `from` on, at most up to `to`, and no more than fits into `maxBytes` but for a first one that is larger. */
  forwards(from: number, to: number, maxBytes: number): Envelope[] {
    const ranges: LineRange[] = []
    let bytes = 0
    for (let seq = from; seq <= to; seq += STEP) {
      for (const range of this.#ranges(seq, Math.min(to, seq + STEP - 1))) {
        bytes += range.length
        if (bytes > maxBytes && ranges.length > 0) return this.#read(ranges)
        ranges.push(range)
      }
    }
    return this.#read(ranges)
  }

  /** The same, but counted from the end: the last ones up to `to`. */
  backwards(from: number, to: number, maxBytes: number): Envelope[] {
    const ranges: LineRange[] = []
    let bytes = 0
    for (let seq = to; seq >= from; seq -= STEP) {
      for (const range of this.#ranges(Math.max(from, seq - STEP + 1), seq).reverse()) {
        bytes += range.length
        if (bytes > maxBytes && ranges.length > 0) return this.#read(ranges.reverse())
        ranges.push(range)
      }
    }
    return this.#read(ranges.reverse())
  }

  #ranges(from: number, to: number): LineRange[] {
    try {
      return this.#options.index().ranges(from, to)
    } catch (error) {
      if (!(error instanceof IndexDamagedError)) throw error
      this.#options.rebuildIndex()
      return this.#options.index().ranges(from, to)
    }
  }

  #read(ranges: LineRange[]): Envelope[] {
    const gaps = new GapCollector(this.#options.sessionId)
    for (const run of soundRuns(ranges)) {
      const bytes = this.#bytes(run.start, run.length)
      for (const range of run.ranges) gaps.add(range.seq, this.#decode(range, bytes, run.start))
    }
    return gaps.end()
  }

  #decode(range: LineRange, bytes: Buffer, runStart: number): Envelope | undefined {
    const expected = { seq: range.seq, sessionId: this.#options.sessionId }
    if (range.damaged) return decodeLine(this.#lastLine(range), expected)
    const line = bytes.subarray(range.start - runStart, range.start - runStart + range.length)
    return crc32(line) === range.crc ? decodeLine(line, expected) : undefined
  }

  /** Among damage the good line, if there is one, is the last. */
  #lastLine({ start, length }: LineRange): Buffer {
    const window = Math.min(length, MAX_WINDOW_BYTES)
    const bytes = this.#bytes(start + length - window, window)
    return bytes.subarray(bytes.length < 2 ? 0 : bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1)
  }

  #bytes(position: number, length: number): Buffer {
    const { ops, fd } = this.#options
    return readFully(ops, fd(), { buffer: Buffer.allocUnsafe(length), position })
  }
}

const STEP = 512
const NEWLINE = 0x0a
const MAX_WINDOW_BYTES = 64 * 1024 * 1024

interface Run {
  start: number
  length: number
  ranges: LineRange[]
}

/** Neighbouring sound lines are read in one go; damage is looked at piece by piece, for it can be of any size. */
function soundRuns(ranges: LineRange[]): Run[] {
  const runs: Run[] = []
  for (const range of ranges) {
    const last = runs.at(-1)
    if (range.damaged) runs.push({ start: range.start, length: 0, ranges: [range] })
    else if (last !== undefined && last.length > 0) {
      last.length += range.length
      last.ranges.push(range)
    } else runs.push({ start: range.start, length: range.length, ranges: [range] })
  }
  return runs
}

/** Puts one `log:gap` where lines are missing. It bears the last missing number, so cursors step over it. */
class GapCollector {
  readonly #sessionId: string
  readonly #envelopes: Envelope[] = []
  #missing = 0
  #seq = 0

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  add(seq: number, envelope: Envelope | undefined): void {
    if (envelope !== undefined) {
      this.#closeGap(envelope.at)
      this.#envelopes.push(envelope)
    } else {
      this.#missing += 1
    }
    this.#seq = seq
  }

  end(): Envelope[] {
    this.#closeGap(this.#envelopes.at(-1)?.at ?? UNKNOWN_TIME)
    return this.#envelopes
  }

  #closeGap(at: string): void {
    if (this.#missing === 0) return
    const missing = this.#missing
    const sessionId = this.#sessionId
    this.#missing = 0
    this.#envelopes.push({
      seq: this.#seq,
      at,
      sessionId,
      turnId: null,
      event: { type: 'log:gap', sessionId, afterSeq: this.#seq - missing, missing, reason: GAP_REASON },
    })
  }
}

const GAP_REASON = 'These lines of the session log are damaged and cannot be read back.'
const UNKNOWN_TIME = new Date(0).toISOString()
