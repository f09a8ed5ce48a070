import { crc32 } from 'node:zlib'
import type { FileOps } from '@chirality/disk'
import { readFully } from '@chirality/disk'
import { HEAD_BYTES, parseSeq, peekSeq } from '../envelope-line.ts'
import type { LineIndex } from './line-index.ts'
import { numberLines } from './number-lines.ts'

export interface IndexLinesOptions {
  ops: FileOps
  fd: number
  /** The end of the log. */
  size: number
  /** Lines that state a higher number were not written by this log. */
  maxSeq?: number
  /** The original checksum of the line with a number, if it is known. */
  knownCrc?: (seq: number) => number | undefined
}

/**
 * Reads the log from the end of the index, and adds the lines it finds. A generator, so that the caller decides whether
 * other work runs between chunks. Returns the start of an incomplete last line; `size` if there is none.
 */
export function* indexLines(index: LineIndex, options: IndexLinesOptions): Generator<void, number> {
  const { ops, fd, size, maxSeq = Number.MAX_SAFE_INTEGER, knownCrc } = options
  const scan = scanLines({ ops, fd, from: index.bytes, to: size })
  const odd: ScannedLine[] = []
  let step = scan.next()
  for (; !step.done; step = scan.next()) {
    for (const line of step.value) {
      if (knownCrc !== undefined && (line.seq > maxSeq || (knownCrc(line.seq) ?? line.crc) !== line.crc))
        line.seq = 0
      // While every line has the next number, no decision is needed and no line is kept.
      if (odd.length === 0 && line.seq === index.count + 1 && line.seq <= maxSeq)
        index.add(line.length, line.crc)
      else odd.push(line)
    }
    yield
  }
  addNumbered(index, odd, { maxSeq, countUnreadable: knownCrc === undefined })
  return step.value
}

function addNumbered(
  index: LineIndex,
  lines: ScannedLine[],
  options: { maxSeq: number; countUnreadable: boolean },
): void {
  const stated = lines.map(({ seq }) => seq)
  const numbers = numberLines(stated, { lastSeq: index.count, ...options })
  let junk = 0
  for (const [i, { length, crc, seq }] of lines.entries()) {
    const number = numbers[i] ?? 0
    if (number === 0) {
      junk += length
      continue
    }
    index.addMissing(number - index.count - 1)
    index.add(junk + length, crc, junk > 0 || number !== seq)
    junk = 0
  }
}

interface ScannedLine {
  start: number
  /** Length with its newline. */
  length: number
  crc: number
  /** 0 if the line is no envelope. */
  seq: number
}

interface ScanOptions {
  ops: FileOps
  fd: number
  from: number
  to: number
}

/**
 * The lines of a part of the log, one chunk at a time, without keeping them: the index of a log of 200 MB is built in
 * the memory of one chunk. Returns the start of an incomplete last line, which is `to` if there is none.
 */
function* scanLines({ ops, fd, from, to }: ScanOptions): Generator<ScannedLine[], number> {
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, to - from)))
  const open = new OpenLine()
  let lineStart = from
  for (let position = from; position < to; ) {
    const want = buffer.subarray(0, Math.min(buffer.length, to - position))
    const chunk = readFully(ops, fd, { buffer: want, position })
    if (chunk.length === 0) break
    const lines: ScannedLine[] = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE) + 1; end > 0; end = chunk.indexOf(NEWLINE, start) + 1) {
      const part = chunk.subarray(start, end)
      const line = open.length === 0 ? wholeLine(part) : open.finish(part)
      const { length, crc } = line
      const seq = line.seq ?? parsedSeq(ops, fd, { start: lineStart, length })
      lines.push({ start: lineStart, length, crc, seq })
      lineStart += length
      start = end
    }
    open.push(chunk.subarray(start))
    position += chunk.length
    yield lines
  }
  return lineStart
}

const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 0x0a
/** A line in another format has to be parsed for its number; a larger line than this counts as damaged. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024

interface PeekedLine {
  length: number
  crc: number
  /** Undefined if it has to be parsed. */
  seq: number | undefined
}

function wholeLine(line: Buffer): PeekedLine {
  const { length } = line
  return { length, crc: crc32(line), seq: peekSeq(line, 0, line[length - 2] ?? 0) }
}

/** A line that began in an earlier chunk; only the beginning of it is kept. */
class OpenLine {
  length = 0
  readonly #head = Buffer.alloc(HEAD_BYTES)
  #crc = 0
  #lastByte = 0

  push(part: Buffer): void {
    if (part.length === 0) return
    if (this.length < HEAD_BYTES) part.copy(this.#head, this.length)
    this.#lastByte = part[part.length - 1] ?? 0
    this.#crc = crc32(part, this.#crc)
    this.length += part.length
  }

  /** `part` is the rest of the line, with the newline. */
  finish(part: Buffer): PeekedLine {
    const lastByte = part.length > 1 ? part[part.length - 2] : this.#lastByte
    this.push(part)
    const line = { length: this.length, crc: this.#crc, seq: peekSeq(this.#head, 0, lastByte ?? 0) }
    this.length = 0
    this.#crc = 0
    return line
  }
}

function parsedSeq(ops: FileOps, fd: number, { start, length }: { start: number; length: number }): number {
  if (length > MAX_PARSED_BYTES) return 0
  return parseSeq(readFully(ops, fd, { buffer: Buffer.allocUnsafe(length), position: start })) ?? 0
}
