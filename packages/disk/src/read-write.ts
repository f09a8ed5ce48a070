import { constants, readlinkSync, realpathSync } from 'node:fs'
import type { FileOps } from './file-ops.ts'
import { StorageError } from './storage-error.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants

/** The flags for our files: a symlink is not followed, and a named pipe does not block. */
export const OPEN = {
  read: O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
  append: O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK,
  appendOrCreate: O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
  update: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
  create: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
  createAppend: O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW,
}

/** Opens a regular file; refuses anything else. */
export function openRegular(ops: FileOps, path: string, flags: number): number {
  const fd = ops.open(path, flags)
  try {
    if (!ops.stat(fd).isFile()) throw new StorageError('unsafe', path, `${path} is not a file. Remove it.`)
    return fd
  } catch (error) {
    ops.close(fd)
    throw error
  }
}

export function writeAll(ops: FileOps, fd: number, bytes: Uint8Array): void {
  let rest = bytes
  while (rest.length > 0) {
    const written = ops.write(fd, rest)
    if (written === 0) throw Object.assign(new Error('the disk took nothing'), { code: 'ENOSPC' })
    rest = rest.subarray(written)
  }
}

/** Fills `buffer` from `position` on and returns the filled part, which is shorter only at the end of the file. */
export function readFully(ops: FileOps, fd: number, options: { buffer: Buffer; position: number }): Buffer {
  const { buffer, position } = options
  let filled = 0
  while (filled < buffer.length) {
    const bytes = ops.read(fd, buffer.subarray(filled), position + filled)
    if (bytes === 0) break
    filled += bytes
  }
  return buffer.subarray(0, filled)
}

/** Reads a small file; undefined when it is missing. */
export function readSmallFile(ops: FileOps, path: string, maxBytes: number): Buffer | undefined {
  if (ops.lstat(path) === undefined) return undefined
  const fd = openRegular(ops, path, OPEN.read)
  try {
    const { size } = ops.stat(fd)
    if (size > maxBytes) throw new StorageError('io', path, `${path} is larger than ${maxBytes} bytes.`)
    return readFully(ops, fd, { buffer: Buffer.allocUnsafe(size), position: 0 })
  } finally {
    ops.close(fd)
  }
}

/**
 * The path of an open file: a folder on the way may have become a link since. Linux knows the answer; elsewhere the path
 * is resolved once more.
 */
export function openedPath(fd: number, file: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return realpathSync(file)
  }
}
