import { type FileHandle, open } from 'node:fs/promises'
import { OPEN } from '../files/read-write.ts'
import { StorageError } from '../files/storage-error.ts'

/** One line of a spool, without its end. */
export interface SpoolLine {
  offset: number
  /** Its length, also when only its beginning was kept. */
  bytes: number
  head: Buffer
  /** The file ends in it: it is still being written, or was never finished. */
  torn: boolean
}

export interface ReadRange {
  from: number
  /** Default: the end of the file. */
  to?: number
  /** About as much is read; one line at least, however long it is. */
  maxBytes: number
  maxLines: number
  /** How much of a line is kept. */
  headBytes: number
}

/** Lines of a file that may be growing. Nothing in it is held to be small: a line of any length costs `headBytes`. */
export class LineReader {
  readonly #handle: FileHandle
  readonly size: number

  private constructor(handle: FileHandle, size: number) {
    this.#handle = handle
    this.size = size
  }

  /** A link is not followed, a pipe not waited for, and what belongs to somebody else not read. */
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

  /** `next` is where to go on: at the beginning of a line that is not finished. */
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
    // Where the next turn begins there is the end of a line, whatever the file says.
    const torn = range.to === undefined || range.to > this.size
    lines.push(whole(line, torn))
    return { lines, next: torn ? line.offset : end }
  }

  /** Where the lines begin that fit before `end`: one at least, however long it is. */
  async startBefore(range: {
    floor: number
    end: number
    maxBytes: number
    maxLines: number
  }): Promise<number> {
    const { floor, end, maxBytes, maxLines } = range
    let start = end
    let lines = 0
    // The line before ends with the byte before `end`.
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

  /** Fewer where the file ends. */
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
