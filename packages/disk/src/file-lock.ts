import { setTimeout as sleep } from 'node:timers/promises'
import { removeIfThere, temporaryName } from './atomic-write.ts'
import { errnoOf } from './errno.ts'
import type { FileOps } from './file-ops.ts'
import { OPEN } from './read-write.ts'

/**
 * Runs `work` under a lock file, so that no other process runs it at the same time: for files that several processes
 * change. A lock older than any such work belongs to a dead process and is taken over.
 */
export async function withFileLock<T>(ops: FileOps, path: string, work: () => Promise<T>): Promise<T> {
  while (!tryLock(ops, path)) {
    removeStale(ops, path)
    await sleep(RETRY_MS)
  }
  try {
    return await work()
  } finally {
    removeIfThere(ops, path)
  }
}

function tryLock(ops: FileOps, path: string): boolean {
  try {
    ops.close(ops.open(path, OPEN.create))
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
}

function removeStale(ops: FileOps, path: string): void {
  const found = ops.lstat(path)
  if (found === undefined || Date.now() - found.ctimeMs < STALE_MS) return
  const aside = temporaryName(path)
  try {
    ops.rename(path, aside)
  } catch (error) {
    // Another process removed it first.
    if (errnoOf(error) === 'ENOENT') return
    throw error
  }
  removeIfThere(ops, aside)
}

const RETRY_MS = 10
/** Far longer than the small writes under the lock take. */
const STALE_MS = 30_000
