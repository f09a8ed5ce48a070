import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '@chirality/runner'
import { type FileOps, realFileOps } from './file-ops.ts'
import { OPEN, writeAll } from './read-write.ts'
import { toStorageError } from './storage-error.ts'

export interface AtomicWriteOptions {
  ops: FileOps
  /** Set as the file's modification time, so that files can be sorted without reading them. */
  modifiedAt?: Date
}

/**
 * Replaces `path` atomically: after a crash it holds the old or the new text. A symlink is replaced, not followed.
 * Resolves when the data is on the disk.
 */
export async function writeFileAtomic(
  path: string,
  text: string,
  options: AtomicWriteOptions,
): Promise<void> {
  const { ops, modifiedAt } = options
  const temporary = temporaryName(path)
  const fd = ops.open(temporary, OPEN.create)
  try {
    try {
      writeAll(ops, fd, Buffer.from(text))
      if (modifiedAt !== undefined) ops.setModified(fd, modifiedAt)
      await ops.sync(fd)
    } finally {
      ops.close(fd)
    }
    ops.rename(temporary, path)
  } catch (error) {
    removeIfThere(ops, temporary)
    throw error
  }
  await syncFolder(ops, dirname(path))
}

/**
 * The same, synchronously and without flushing, for data that a power failure makes void anyway. Throws a StorageError.
 */
export function writeFileNow(ops: FileOps, path: string, text: string): void {
  const temporary = temporaryName(path)
  try {
    const fd = ops.open(temporary, OPEN.create)
    try {
      writeAll(ops, fd, Buffer.from(text))
    } finally {
      ops.close(fd)
    }
    ops.rename(temporary, path)
  } catch (error) {
    throw toStorageError(error, path)
  }
}

/**
 * A temporary name beside the file, with the writer's process id: another process can tell whether it is still being
 * written.
 */
export function temporaryName(path: string): string {
  const pid = process.pid.toString(16).padStart(PID_DIGITS, '0')
  return `${path}.tmp-${pid}${randomBytes(6).toString('hex')}`
}

const PID_DIGITS = 8

/** Includes the writer's process id in hexadecimal. */
export const TEMPORARY_NAME = /\.tmp-([0-9a-f]{8})?[0-9a-f]{12}$/

/** Makes creations, renames and removals in a folder survive a power failure. */
export async function syncFolder(ops: FileOps, folder: string): Promise<void> {
  const fd = ops.open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await ops.sync(fd)
  } catch (error) {
    // Some network and FUSE file systems cannot sync a folder.
    if (errnoOf(error) !== 'EINVAL' && errnoOf(error) !== 'ENOTSUP') throw error
  } finally {
    ops.close(fd)
  }
}

export function removeIfThere(ops: FileOps, path: string): void {
  try {
    ops.unlink(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/** The first unused name of the form `<path>-<n>`. */
export function freeName(ops: FileOps, path: string): string {
  for (let n = 1; ; n += 1) {
    const name = `${path}-${n}`
    if (ops.lstat(name) === undefined) return name
  }
}

/** Removes the temporary files of killed processes from a folder of ours and its subfolders. */
export function sweepTemporaries(folder: string, ops: FileOps = realFileOps, depth = 0): void {
  for (const name of namesIn(folder, ops)) {
    // The name of a folder of ours has no dot. A project with many sessions has thousands of other files.
    if (name.includes('.') && !TEMPORARY_NAME.test(name)) continue
    const path = join(folder, name)
    const stats = ops.lstat(path)
    if (stats?.isDirectory() && depth < MAX_DEPTH && !LARGE.has(name)) sweepTemporaries(path, ops, depth + 1)
    if (stats?.isFile() && isLeft(name, stats.ctimeMs)) removeIfThere(ops, path)
  }
}

const MAX_DEPTH = 2
/** Skipped: no temporary files are written there. */
const LARGE = new Set(['logs', 'objects', 'demo'])
const OLD_MS = 60 * 60 * 1000

function isLeft(name: string, changedMs: number): boolean {
  const match = TEMPORARY_NAME.exec(name)
  if (match === null) return false
  const [, pid] = match
  if (pid === undefined) return Date.now() - changedMs > OLD_MS
  return !isAlive(Number.parseInt(pid, 16))
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return errnoOf(error) !== 'ESRCH'
  }
}

function namesIn(folder: string, ops: FileOps): string[] {
  try {
    return ops.readdir(folder)
  } catch {
    return []
  }
}
