import { type FileHandle, open } from 'node:fs/promises'
import { OPEN, StorageError } from '@chirality/disk'

/** One line of a spool, without its line break. */
export interface SpoolLine {
  offset: number
  /** The full length, even when only the beginning was kept. */
  bytes: number
  head: Buffer
  /** The file ends in this line: it is incomplete or still being written. */
  torn: boolean
}

export interface ReadRange {
  from: number
  /** Default: the end of the file. */
  to?: number
  /** The approximate amount to read; at least one line of any length. */
  maxBytes: number
  maxLines: number
  /** How much of a line is kept. */
  headBytes: number
}

/** Reads lines of a file that may be growing. A line of any length costs only `headBytes` of memory. */
export class LineReader {
  readonly #handle: FileHandle
  readonly size: number

  private constructor(handle: FileHandle, size: number) {
    this.#handle = handle
    this.size = size
  }

  /** Follows no symlink, does not block on a pipe, and refuses a file of another user. */
  static async open(path: string): Promise<LineReader> {
    const handle = await open(path, OPEN.read)
    try {
      const stats = await handle.stat()
      const uid = process.getuid?.()
      if (!stats.isFile()) throw new StorageError('unsafe', path, `${path} is not a file. Remove it.`)
      if (uid !== undefined && stats.uid !== uid)
        throw new StorageError('unsafe', path, `${path} belongs to another user (uid ${stats.uid}).`)
      return new LineReader(handle, stats.size)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  /** `next` is the position to continue from: the start of an incomplete line. */
  async read(range: ReadRange): Promise<{ lines: SpoolLine[]; next: number }> {
    const end = Math.min(range.to ?? this.size, this.size)
    const lines: SpoolLine[] = []
    let line = newLine(range.from)
    for (let at = range.from; at < end; ) {
      const chunk = await this.bytes(at, Math.min(CHUNK_BYTES, end - at))
      if (chunk.length === 0) break
      for (let start = 0; start < chunk.length; ) {
        const newline = chunk.indexOf(NEWLINE, start)
        const stop = newline === -1 ? chunk.length : newline
        keep(line, chunk.subarray(start, stop), range.headBytes)
        start = stop + 1
        if (newline === -1) break
        const next = at + start
        if (line.bytes > 0) lines.push(whole(line))
        if (next - range.from >= range.maxBytes || lines.length >= range.maxLines) return { lines, next }
        line = newLine(next)
      }
      at += chunk.length
    }
    if (line.bytes === 0) return { lines, next: line.offset }
    // A turn always starts on a new line, so the range ends at a line end even if the file does not.
    const torn = range.to === undefined || range.to > this.size
    lines.push(whole(line, torn))
    return { lines, next: torn ? line.offset : end }
  }

  /** The start of the last lines that fit before `end`; at least one line of any length. */
  async startBefore(range: {
    floor: number
    end: number
    maxBytes: number
    maxLines: number
  }): Promise<number> {
    const { floor, end, maxBytes, maxLines } = range
    let start = end
    let lines = 0
    // The byte before `end` is the end of the previous line.
    for (let upTo = end - 1; upTo > floor; ) {
      const from = Math.max(floor, upTo - CHUNK_BYTES)
      const chunk = await this.bytes(from, upTo - from)
      for (
        let i = chunk.lastIndexOf(NEWLINE);
        i !== -1;
        i = i === 0 ? -1 : chunk.lastIndexOf(NEWLINE, i - 1)
      ) {
        const candidate = from + i + 1
        if (start < end && end - candidate > maxBytes) return start
        start = candidate
        lines += 1
        if (lines >= maxLines) return start
      }
      upTo = from
      if (start < end && end - from > maxBytes) return start
    }
    return start < end && end - floor > maxBytes ? start : Math.min(floor, end)
  }

  async endsLine(position: number): Promise<boolean> {
    return (await this.bytes(position, 1))[0] === NEWLINE
  }

  /** Returns fewer bytes at the end of the file. */
  async bytes(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await this.#handle.read(buffer, filled, length - filled, position + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.subarray(0, filled)
  }
}

const CHUNK_BYTES = 256 * 1024
const NEWLINE = 0x0a

interface OpenLine {
  offset: number
  bytes: number
  pieces: Buffer[]
  kept: number
}

function newLine(offset: number): OpenLine {
  return { offset, bytes: 0, pieces: [], kept: 0 }
}

function keep(line: OpenLine, piece: Buffer, headBytes: number): void {
  const kept = piece.subarray(0, Math.max(0, headBytes - line.kept))
  line.bytes += piece.length
  line.kept += kept.length
  if (kept.length > 0) line.pieces.push(kept)
}

function whole({ offset, bytes, pieces }: OpenLine, torn = false): SpoolLine {
  return { offset, bytes, head: Buffer.concat(pieces), torn }
}
