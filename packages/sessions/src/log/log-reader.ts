import { crc32 } from 'node:zlib'
import { type Envelope, hasCode } from '@chirality/core'
import type { FileOps } from '@chirality/disk'
import { readFully, toStorageError } from '@chirality/disk'
import { decodeLine, decodeLines } from './envelope-line.ts'
import type { EventText } from './event-text.ts'
import type { ByteRange } from './index/index-block.ts'
import { indexDamaged, type LineIndex } from './index/line-index.ts'
import { mayHaveRefs, restoreTexts } from './stored-texts.ts'

export interface LogReaderOptions {
  ops: FileOps
  sessionId: string
  path: string
  /** A function, because the file may be replaced meanwhile. */
  fd: () => number
  index: () => LineIndex
  /** Rebuilds the index from the log. */
  rebuildIndex: () => void
}

export interface ReadBounds {
  lastSeq: number
  maxBytes: number
}

/** Reads envelopes by number. A `log:gap` event replaces lines that cannot be read. */
export class LogReader {
  readonly #options: LogReaderOptions
  readonly #known: KnownLines

  constructor(options: LogReaderOptions) {
    this.#options = options
    this.#known = new KnownLines(options.index())
  }

  /** The envelopes after `seq`, at most `limit` and `maxBytes`; the first one is returned even if it is larger. */
  after(seq: number, limit: number, bounds: ReadBounds): Envelope[] {
    return this.#read(
      () => this.#rangesAfter(seq, limit, bounds),
      (ranges, ifMisplaced) => this.#whole(ranges, { ifMisplaced, maxBytes: bounds.maxBytes, keep: 'first' }),
    )
  }

  /** The same as JSON. Lines that are known to be valid are not parsed. */
  textAfter(seq: number, limit: number, bounds: ReadBounds): EventText | undefined {
    return this.#read(
      () => this.#rangesAfter(seq, limit, bounds),
      (ranges, ifMisplaced) =>
        this.#knownText(ranges) ??
        textOf(this.#whole(ranges, { ifMisplaced, maxBytes: bounds.maxBytes, keep: 'first' })),
    )
  }

  /** The last envelopes before `seq`, oldest first. */
  before(seq: number, limit: number, bounds: ReadBounds): Envelope[] {
    return this.#read(
      () => this.#rangesBefore(seq, limit, bounds),
      (ranges, ifMisplaced) => this.#whole(ranges, { ifMisplaced, maxBytes: bounds.maxBytes, keep: 'last' }),
    )
  }

  #rangesAfter(seq: number, limit: number, { lastSeq, maxBytes }: ReadBounds): ByteRange[] {
    const from = Math.max(0, seq) + 1
    const to = Math.min(lastSeq, from + limit - 1)
    const ranges: ByteRange[] = []
    let bytes = 0
    for (let next = from; next <= to; next += STEP) {
      for (const range of this.#options.index().ranges(next, Math.min(to, next + STEP - 1))) {
        bytes += range.length
        if (bytes > maxBytes && ranges.length > 0) return ranges
        ranges.push(range)
      }
    }
    return ranges
  }

  #rangesBefore(seq: number, limit: number, { lastSeq, maxBytes }: ReadBounds): ByteRange[] {
    const to = Math.min(lastSeq, seq - 1)
    const from = Math.max(1, to - limit + 1)
    const ranges: ByteRange[] = []
    let bytes = 0
    for (let next = to; next >= from; next -= STEP) {
      const earlier = this.#options.index().ranges(Math.max(from, next - STEP + 1), next)
      for (const range of earlier.reverse()) {
        bytes += range.length
        if (bytes > maxBytes && ranges.length > 0) return ranges.reverse()
        ranges.push(range)
      }
    }
    return ranges.reverse()
  }

  /** Rebuilds an index that turns out to be wrong, and tries again. */
  #read<T>(find: () => ByteRange[], make: (ranges: ByteRange[], ifMisplaced: IfMisplaced) => T): T {
    try {
      try {
        return make(find(), 'fail')
      } catch (error) {
        if (!hasCode(error, 'index-damaged')) throw error
        this.#options.rebuildIndex()
        return make(find(), 'skip')
      }
    } catch (error) {
      throw toStorageError(error, this.#options.path)
    }
  }

  /** With the texts that other lines hold. They count as much as if they were in these lines. */
  #whole(ranges: ByteRange[], { ifMisplaced, maxBytes, keep }: WholeOptions): Envelope[] {
    const stored = this.#envelopes(ranges, ifMisplaced)
    const pageStart = ranges[0]?.seq ?? 0
    const restored = restoreTexts(stored, from => this.#linesBetween(from, pageStart, ifMisplaced))
    if (restored === undefined) return stored
    const { envelopes, restoredChars } = restored
    const lengths = new Map(ranges.map(({ seq, length }) => [seq, length]))
    let bytes = 0
    const fits = ({ seq }: Envelope) => {
      bytes += (lengths.get(seq) ?? 0) + (restoredChars.get(seq) ?? 0)
      return bytes <= maxBytes
    }
    if (keep === 'first') {
      const end = envelopes.findIndex(envelope => !fits(envelope))
      return end < 0 ? envelopes : envelopes.slice(0, Math.max(1, end))
    }
    const end = envelopes.findLastIndex(envelope => !fits(envelope))
    return envelopes.slice(Math.min(end + 1, envelopes.length - 1))
  }

  /** The lines from `from` up to the one before `end`, one page at a time. */
  *#linesBetween(from: number, end: number, ifMisplaced: IfMisplaced): Generator<Envelope[]> {
    for (let next = from; next < end; ) {
      const ranges = this.#rangesAfter(next - 1, STEP, { lastSeq: end - 1, maxBytes: PIECES_BYTES })
      if (ranges.length === 0) return
      yield this.#envelopes(ranges, ifMisplaced)
      next += ranges.length
    }
  }

  #envelopes(ranges: ByteRange[], ifMisplaced: IfMisplaced): Envelope[] {
    const text = this.#soundText(ranges)
    const envelopes = text === undefined ? undefined : this.#parse(text, ranges)
    return envelopes ?? this.#envelopesOneByOne(ranges, ifMisplaced)
  }

  #knownText(ranges: ByteRange[]): EventText | undefined {
    const [first] = ranges
    const last = ranges.at(-1)
    if (first === undefined || last === undefined) return undefined
    const isKnown = this.#known.has(this.#options.index(), first.seq, last.seq)
    const text = isKnown ? this.#soundText(ranges) : undefined
    return text === undefined || mayHaveRefs(text) ? undefined : { from: first.seq, to: last.seq, text }
  }

  /** For a log without damage, as almost all are: all lines in one string, separated by commas. */
  #soundText(ranges: ByteRange[]): string | undefined {
    const [run, ...others] = soundRuns(ranges)
    if (run === undefined || others.length > 0 || run.length === 0) return undefined
    const bytes = this.#bytes(run.start, run.length)
    if (bytes.length < run.length) return undefined
    for (const range of run.ranges) {
      const start = range.start - run.start
      const end = start + range.length
      if (crc32(bytes.subarray(start, end)) !== range.crc || bytes[end - 1] !== NEWLINE) return undefined
      bytes[end - 1] = COMMA
    }
    return bytes.toString('utf8', 0, bytes.length - 1)
  }

  #parse(text: string, ranges: ByteRange[]): Envelope[] | undefined {
    const envelopes = decodeLines(text, this.#options.sessionId)
    const areRight =
      envelopes?.length === ranges.length && envelopes.every(({ seq }, i) => seq === ranges[i]?.seq)
    if (!areRight) return undefined
    this.#known.parsed(this.#options.index(), ranges[0]?.seq ?? 0, ranges.at(-1)?.seq ?? 0)
    return envelopes
  }

  #envelopesOneByOne(ranges: ByteRange[], ifMisplaced: IfMisplaced): Envelope[] {
    const gaps = new GapCollector(this.#options.sessionId)
    for (const run of soundRuns(ranges)) {
      const bytes = this.#bytes(run.start, run.length)
      for (const range of run.ranges) {
        const start = range.start - run.start
        const found = range.damaged
          ? this.#decodeDamaged(range)
          : this.#decode(range, bytes.subarray(start, start + range.length), ifMisplaced)
        gaps.add(range.seq, found)
      }
    }
    return gaps.end()
  }

  #decode(range: ByteRange, line: Buffer, ifMisplaced: IfMisplaced): Envelope | undefined {
    if (crc32(line) !== range.crc) {
      // A damaged line keeps its newlines. If they are elsewhere, the lines behind it have moved too.
      const misplaced = line.indexOf(NEWLINE) !== range.length - 1
      if (misplaced && ifMisplaced === 'fail') throw indexDamaged(`line ${range.seq} is not in its place`)
      return undefined
    }
    const found = decodeLine(line, this.#options.sessionId)
    return found?.seq === range.seq ? found : undefined
  }

  /** Within a damaged range a line counts by its position: the number that it states may be the damaged part. */
  #decodeDamaged(range: ByteRange): Envelope | undefined {
    const found = decodeLine(this.#lastLine(range), this.#options.sessionId)
    return found && { ...found, seq: range.seq }
  }

  /** Within a damaged range the valid line, if there is one, is the last. */
  #lastLine({ start, length }: ByteRange): Buffer {
    const window = Math.min(length, MAX_WINDOW_BYTES)
    const bytes = this.#bytes(start + length - window, window)
    return bytes.subarray(bytes.length < 2 ? 0 : bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1)
  }

  #bytes(position: number, length: number): Buffer {
    const { ops, fd } = this.#options
    return readFully(ops, fd(), { buffer: Buffer.allocUnsafe(length), position })
  }
}

function textOf(envelopes: Envelope[]): EventText | undefined {
  const [first] = envelopes
  const last = envelopes.at(-1)
  if (first === undefined || last === undefined) return undefined
  return { from: first.seq, to: last.seq, text: JSON.stringify(envelopes).slice(1, -1) }
}

type IfMisplaced = 'fail' | 'skip'

interface WholeOptions {
  ifMisplaced: IfMisplaced
  maxBytes: number
  /** Which end of the page remains if it is more than `maxBytes`. */
  keep: 'first' | 'last'
}

const PIECES_BYTES = 8 * 1024 * 1024
const STEP = 512
const NEWLINE = 0x0a
const COMMA = 0x2c
const MAX_WINDOW_BYTES = 64 * 1024 * 1024

interface Run {
  start: number
  length: number
  ranges: ByteRange[]
}

/** Adjacent intact lines are read in one call; damaged ranges are read in pieces, because they can have any size. */
function soundRuns(ranges: ByteRange[]): Run[] {
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

/** Puts one `log:gap` in place of missing lines. It has the last missing number, so that cursors skip it. */
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

/**
 * Which lines of a log are known to be JSON if their checksums match: those written through this index, and a first
 * range that was parsed once.
 */
class KnownLines {
  #index: LineIndex
  #writtenFrom: number
  #parsedTo = 0

  constructor(index: LineIndex) {
    this.#index = index
    this.#writtenFrom = index.count + 1
  }

  has(index: LineIndex, from: number, to: number): boolean {
    this.#follow(index)
    const isParsed = to <= this.#parsedTo
    return isParsed || from >= this.#writtenFrom || (from <= this.#parsedTo + 1 && this.#meet)
  }

  parsed(index: LineIndex, from: number, to: number): void {
    this.#follow(index)
    if (from <= this.#parsedTo + 1) this.#parsedTo = Math.max(this.#parsedTo, to)
  }

  /** All lines are known: the parsed range reaches the written one. */
  get #meet(): boolean {
    return this.#writtenFrom <= this.#parsedTo + 1
  }

  /** A rebuilt index has the checksums of whatever is in the file, so they prove nothing. */
  #follow(index: LineIndex): void {
    if (index === this.#index) return
    this.#index = index
    this.#writtenFrom = index.count + 1
    this.#parsedTo = 0
  }
}
