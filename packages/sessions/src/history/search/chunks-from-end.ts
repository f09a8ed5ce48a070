import type { FileOps } from '../../files/file-ops.ts'
import { readFully } from '../../files/read-write.ts'

export interface LogChunk {
  /** Whole lines. Good until the next chunk is asked for. */
  bytes: Buffer
  /** Where they stand in the file. */
  start: number
}

/** A log from its end to its beginning: what is newest is found first. A last line that is not finished is left out. */
export function* chunksFromEnd(ops: FileOps, fd: number, size: number): Generator<LogChunk> {
  const usual = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size))
  let span = CHUNK_BYTES
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - span)
    const length = end - start
    const buffer = length <= usual.length ? usual.subarray(0, length) : Buffer.allocUnsafe(length)
    const bytes = readFully(ops, fd, { buffer, position: start })
    const first = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1
    const last = bytes.lastIndexOf(NEWLINE) + 1
    const hasLines = last > first
    if (hasLines) yield { bytes: bytes.subarray(first, last), start: start + first }
    if (hasLines || start === 0 || span >= MAX_LINE_BYTES) {
      end = hasLines ? start + first : start
      span = CHUNK_BYTES
    } else span *= 2
  }
}

const CHUNK_BYTES = 1024 * 1024
/** A line beyond this is damage. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const NEWLINE = 0x0a
