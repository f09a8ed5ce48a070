import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'

/** A part of a session's log as it travels: bytes of the file, and where they are in it. */
export interface LogPart {
  from: number
  bytes: Buffer
}

/** How much of the end of what was shipped is remembered, to notice a file that was replaced. */
const CHECKED_BYTES = 1024
export const MAX_PART_BYTES = 256 * 1024

/** The log of a session on the disk of the machine that writes it. Only whole lines are taken. */
export class LogBytes {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** The next bytes after `from`, at most 256 KB, up to the end of a line where there is one. Undefined if there are none. */
  next(from: number): LogPart | undefined {
    return this.#open((fd, size) => {
      const end = endOfLines(fd, from, size)
      if (end <= from) return undefined
      const bytes = readAt(fd, from, Math.min(MAX_PART_BYTES, end - from))
      const lastLine = bytes.lastIndexOf(NEWLINE)
      return { from, bytes: lastLine === -1 ? bytes : bytes.subarray(0, lastLine + 1) }
    })
  }

  /** Any bytes of whole lines, for a reader that lacks them. */
  read(from: number, length: number): Buffer {
    const part = this.#open((fd, size) => {
      const end = endOfLines(fd, from, size)
      return readAt(fd, from, Math.max(0, Math.min(length, MAX_PART_BYTES, end - from)))
    })
    return part ?? Buffer.alloc(0)
  }

  /** The checksum of the bytes before a place; undefined if the file is shorter. */
  checksumBefore(offset: number): number | undefined {
    return this.#open((fd, size) => {
      if (size < offset) return undefined
      const length = Math.min(CHECKED_BYTES, offset)
      return crc32(readAt(fd, offset - length, length))
    })
  }

  #open<T>(read: (fd: number, size: number) => T): T | undefined {
    let fd: number
    try {
      fd = openSync(this.#path, 'r')
    } catch {
      return undefined
    }
    try {
      return read(fd, fstatSync(fd).size)
    } finally {
      closeSync(fd)
    }
  }
}

const NEWLINE = 0x0a
const LOOK_BACK_BYTES = 64 * 1024

/** Where the last whole line ends: what follows is being written, or will be set aside. */
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
