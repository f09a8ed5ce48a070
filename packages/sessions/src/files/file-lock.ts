import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from '@chirality/runner'
import { removeIfThere, temporaryName } from './atomic-write.ts'
import type { FileOps } from './file-ops.ts'
import { OPEN } from './read-write.ts'

/**
 * Does `work` while no other process does it under the same lock file: for files that several processes read, change and
 * write. A lock that is older than any such work was left by a process that died, and is taken over.
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
    // Somebody else was faster.
    if (errnoOf(error) === 'ENOENT') return
    throw error
  }
  removeIfThere(ops, aside)
}

const RETRY_MS = 10
/** Small files are written under it. */
const STALE_MS = 30_000
