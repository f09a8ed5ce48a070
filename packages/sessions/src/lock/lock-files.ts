import { join } from 'node:path'
import { errnoOf } from '@chirality/runner'
import { removeIfThere, temporaryName } from '../files/atomic-write.ts'
import { realFileOps as ops } from '../files/file-ops.ts'
import { OPEN, readSmallFile, writeAll } from '../files/read-write.ts'
import { type OwnerRecord, parseOwner } from './lock-owner.ts'

/**
 * Lock files are numbered, and the highest number is valid. To take over from a dead owner, a process creates the next
 * number, which only one of many can do. Replacing or removing the dead owner's file could hit that of a new, living
 * owner. For the same reason the highest file is never removed, only marked as released.
 */
export interface LockFile {
  number: number
  /** Undefined when it cannot be read. */
  owner: OwnerRecord | undefined
}

export function readLock(folder: string): LockFile | undefined {
  const number = Math.max(0, ...lockNumbers(folder))
  if (number === 0) return undefined
  const text = readSmallFile(ops, lockPath(folder, number), MAX_LOCK_BYTES)
  // Removed since it was listed: another process took over.
  if (text === undefined) return readLock(folder)
  return { number, owner: parseOwner(text.toString('utf8')) }
}

/** False when another process has this number. */
export function claimLock(folder: string, number: number, owner: OwnerRecord): boolean {
  const path = lockPath(folder, number)
  const temporary = writeTemporary(path, owner)
  try {
    ops.link(temporary, path)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    if (!NO_HARD_LINKS.has(errnoOf(error) ?? '')) throw error
    return claimWithoutLink(path, owner)
  } finally {
    removeIfThere(ops, temporary)
  }
  return number === Math.max(...lockNumbers(folder))
}

/** Only for the owner of this number. */
export function rewriteLock(folder: string, number: number, owner: OwnerRecord): void {
  const path = lockPath(folder, number)
  ops.rename(writeTemporary(path, owner), path)
}

export function removeOlderLocks(folder: string, than: number): void {
  for (const number of lockNumbers(folder)) {
    if (number < than) removeIfThere(ops, lockPath(folder, number))
  }
}

/** The highest number that `lockNumbers` accepts. */
export const MAX_LOCK_NUMBER = 999_999_999_999_999
const MAX_LOCK_BYTES = 64 * 1024
const NO_HARD_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function lockPath(folder: string, number: number): string {
  return join(folder, `${number}.json`)
}

function lockNumbers(folder: string): number[] {
  return ops.readdir(folder).flatMap(name => {
    const digits = /^([1-9]\d{0,14})\.json$/.exec(name)?.[1]
    return digits === undefined ? [] : [Number(digits)]
  })
}

function writeTemporary(path: string, owner: OwnerRecord): string {
  const temporary = temporaryName(path)
  writeNew(temporary, owner)
  return temporary
}

function claimWithoutLink(path: string, owner: OwnerRecord): boolean {
  try {
    writeNew(path, owner)
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
}

function writeNew(path: string, owner: OwnerRecord): void {
  const fd = ops.open(path, OPEN.create)
  try {
    writeAll(ops, fd, Buffer.from(`${JSON.stringify(owner)}\n`))
  } finally {
    ops.close(fd)
  }
}
