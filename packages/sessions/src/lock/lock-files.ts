import { join } from 'node:path'
import {
  createFileNow,
  realFileOps as ops,
  readSmallFile,
  removeIfThere,
  writeFileNow,
} from '@chirality/disk'
import { type OwnerRecord, parseLockOwner } from './lock-owner.ts'

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
  return { number, owner: parseLockOwner(text.toString('utf8')) }
}

/** False when another process has this number. */
export function claimLock(folder: string, number: number, owner: OwnerRecord): boolean {
  if (!createFileNow(lockPath(folder, number), lineOf(owner), { survives: 'kill' })) return false
  return number === Math.max(...lockNumbers(folder))
}

/** Only for the owner of this number. */
export function rewriteLock(folder: string, number: number, owner: OwnerRecord): void {
  writeFileNow(lockPath(folder, number), lineOf(owner), { survives: 'kill' })
}

export function removeOlderLocks(folder: string, than: number): void {
  for (const number of lockNumbers(folder)) {
    if (number < than) removeIfThere(ops, lockPath(folder, number))
  }
}

/** The highest number that `lockNumbers` accepts. */
export const MAX_LOCK_NUMBER = 999_999_999_999_999
const MAX_LOCK_BYTES = 64 * 1024

function lockPath(folder: string, number: number): string {
  return join(folder, `${number}.json`)
}

function lockNumbers(folder: string): number[] {
  return ops.readdir(folder).flatMap(name => {
    const digits = /^([1-9]\d{0,14})\.json$/.exec(name)?.[1]
    return digits === undefined ? [] : [Number(digits)]
  })
}

function lineOf(owner: OwnerRecord): string {
  return `${JSON.stringify(owner)}\n`
}
