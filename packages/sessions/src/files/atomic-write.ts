import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf } from '@chirality/runner'
import type { FileOps } from './file-ops.ts'
import { OPEN, writeAll } from './read-write.ts'
import { toStorageError } from './storage-error.ts'

export interface AtomicWriteOptions {
  ops: FileOps
  /** Recorded as the time of the file, which then can be sorted without reading it. */
  modifiedAt?: Date
}

/**
 * Replaces `path` as a whole: after a crash it holds the old or the new text, never a mixture, and a symlink in its
 * place is replaced, not followed. Done when the disk has it.
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

/** The same at once and without waiting for the disk, for what a power cut makes void anyway. Throws a StorageError. */
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

/** Beside the file that it will be. Says which process writes it: whoever finds it can tell whether it is still being written. */
export function temporaryName(path: string): string {
  const pid = process.pid.toString(16).padStart(PID_DIGITS, '0')
  return `${path}.tmp-${pid}${randomBytes(6).toString('hex')}`
}

const PID_DIGITS = 8

/** With the pid of its writer, in hexadecimal. */
export const TEMPORARY_NAME = /\.tmp-([0-9a-f]{8})?[0-9a-f]{12}$/

/** Makes creations, renames and removals in a folder survive a power cut. */
export async function syncFolder(ops: FileOps, folder: string): Promise<void> {
  const fd = ops.open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await ops.sync(fd)
  } catch (error) {
    // Some network and FUSE file systems cannot sync a folder; there is nothing more to be had from them.
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

/** The first name of `<path>-<n>` that is free. */
export function freeName(ops: FileOps, path: string): string {
  for (let n = 1; ; n += 1) {
    const name = `${path}-${n}`
    if (ops.lstat(name) === undefined) return name
  }
}
