import { closeSync, fstatSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { OPEN, openRegular, realFileOps, toStorageError } from '@chirality/sessions'

/** A part of a session's log: bytes of the file and their offset. */
export interface LogPart {
  from: number
  bytes: Buffer
  /** Checksum of the last bytes of the log up to the end of this part. */
  checksum: number
  /** True if the file had further whole lines, or more of this one, when it was read. */
  hasMore: boolean
}

/** Number of trailing bytes that the checksum covers, to notice a file that was replaced. */
const CHECKED_BYTES = 1024
export const MAX_PART_BYTES = 256 * 1024

/**
 * Reads whole lines from a session's log on the machine that writes it. Throws a StorageError for anything but a
 * regular file: a repository may have a symlink to a private file in its place, or a named pipe.
 */
export class LogBytes {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The next bytes after `from`, at most 256 KB, up to the end of a line where there is one. Undefined if there are
   * none; `replaced` if the bytes before have another checksum. Opens and reads the file once, because a worker with
   * many sessions does this many times a second.
   */
  next(from: number, checksum: number): LogPart | 'replaced' | undefined {
    const missing = from === 0 ? undefined : 'replaced'
    return this.#open<LogPart | 'replaced' | undefined>(missing, (fd, size) => {
      const before = Math.min(CHECKED_BYTES, from)
      if (size < from) return 'replaced'
      const length = Math.min(MAX_PART_BYTES, size - from)
      const read = readAt(fd, from - before, before + length)
      if (crc32(read.subarray(0, before)) !== checksum) return 'replaced'
      const lastLine = read.lastIndexOf(NEWLINE)
      let end = lastLine + 1
      if (end <= before) {
        // A line that is longer than a part is shipped as soon as its end is written.
        if (from + length >= size || endOfLines(fd, from + length, size) <= from + length) return undefined
        end = read.length
      }
      return {
        from,
        bytes: read.subarray(before, end),
        hasMore: from + length < size,
        checksum: crc32(read.subarray(Math.max(0, end - CHECKED_BYTES), end)),
      }
    })
  }

  get exists(): boolean {
    try {
      return this.#open(false, () => true)
    } catch {
      return false
    }
  }

  /** Bytes of whole lines at any offset, for a reader that lacks them. */
  read(from: number, length: number): Buffer {
    return this.#open(Buffer.alloc(0), (fd, size) => {
      const end = endOfLines(fd, from, size)
      return readAt(fd, from, Math.max(0, Math.min(length, MAX_PART_BYTES, end - from)))
    })
  }

  #open<T>(missing: T, read: (fd: number, size: number) => T): T {
    let fd: number | undefined
    try {
      fd = openRegular(realFileOps, this.#path, OPEN.read)
      return read(fd, fstatSync(fd).size)
    } catch (error) {
      const fault = toStorageError(error, this.#path)
      if (fault.code === 'not-found') return missing
      throw fault
    } finally {
      if (fd !== undefined) closeSync(fd)
    }
  }
}

const NEWLINE = 0x0a
const LOOK_BACK_BYTES = 64 * 1024

/** End of the last whole line: the rest is being written, or will be set aside. */
function endOfLines(fd: number, from: number, size: number): number {
  for (let end = size; end > from; ) {
    const length = Math.min(LOOK_BACK_BYTES, end - from)
    const at = readAt(fd, end - length, length).lastIndexOf(NEWLINE)
    if (at !== -1) return end - length + at + 1
    end -= length
  }
  return from
}

function readAt(fd: number, position: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const count = readSync(fd, buffer, read, length - read, position + read)
    if (count === 0) break
    read += count
  }
  return buffer.subarray(0, read)
}
