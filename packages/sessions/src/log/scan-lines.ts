import { crc32 } from 'node:zlib'
import type { FileOps } from '../files/file-ops.ts'
import { readFully } from '../files/read-write.ts'
import { HEAD_BYTES, parseSeq, peekSeq } from './envelope-line.ts'

export interface ScannedLine {
  start: number
  /** With its newline. */
  length: number
  crc: number
  /** 0 when the line is no envelope. */
  seq: number
}

export interface ScanOptions {
  ops: FileOps
  fd: number
  from: number
  to: number
}

/**
 * The lines of a part of the log, a chunk's worth at a time, without holding any of them: an index of 200 MB is made in
 * the memory of one chunk. Returns where the last, unfinished line starts, which is `to` when there is none.
 */
export function* scanLines({ ops, fd, from, to }: ScanOptions): Generator<ScannedLine[], number> {
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, to - from)))
  const line = new OpenLine(from)
  for (let position = from; position < to; ) {
    const want = buffer.subarray(0, Math.min(buffer.length, to - position))
    const chunk = readFully(ops, fd, { buffer: want, position })
    if (chunk.length === 0) break
    const lines: ScannedLine[] = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      line.push(chunk.subarray(start, end + 1))
      lines.push(line.finish(wanted => readFully(ops, fd, wanted)))
      start = end + 1
    }
    line.push(chunk.subarray(start))
    position += chunk.length
    yield lines
  }
  return line.start
}

const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 0x0a
/** A stranger's line has to be parsed to be placed; one that is larger than this is taken for damage. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024

/** The line that is being put together; of its bytes only the head is kept. */
class OpenLine {
  start: number
  readonly #head = Buffer.alloc(HEAD_BYTES)
  #length = 0
  #crc = 0
  /** The last byte before the newline. */
  #lastByte = 0

  constructor(start: number) {
    this.start = start
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (this.#length < HEAD_BYTES) bytes.copy(this.#head, this.#length)
    const last = bytes.length - (bytes.at(-1) === NEWLINE ? 2 : 1)
    if (last >= 0) this.#lastByte = bytes[last] ?? 0
    this.#crc = crc32(bytes, this.#crc)
    this.#length += bytes.length
  }

  finish(read: (wanted: { buffer: Buffer; position: number }) => Buffer): ScannedLine {
    const { start } = this
    const length = this.#length
    const head = this.#head.subarray(0, Math.min(length, HEAD_BYTES))
    let seq = peekSeq(head, this.#lastByte)
    if (seq === undefined && head[0] === OPENING_BRACE && length <= MAX_PARSED_BYTES) {
      seq = parseSeq(read({ buffer: Buffer.allocUnsafe(length), position: start }))
    }
    const found = { start, length, crc: this.#crc, seq: seq ?? 0 }
    this.start += length
    this.#length = 0
    this.#crc = 0
    this.#lastByte = 0
    return found
  }
}

const OPENING_BRACE = 0x7b
