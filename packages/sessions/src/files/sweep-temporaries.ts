import { join } from 'node:path'
import { errnoOf } from '@chirality/runner'
import { removeIfThere, TEMPORARY_NAME } from './atomic-write.ts'
import { type FileOps, realFileOps } from './file-ops.ts'

/** Removes what a process that was killed while it wrote has left in a folder of ours and the folders in it. */
export function sweepTemporaries(folder: string, ops: FileOps = realFileOps, depth = 0): void {
  for (const name of namesIn(folder, ops)) {
    const path = join(folder, name)
    const stats = ops.lstat(path)
    if (stats?.isDirectory() && depth < MAX_DEPTH && !LARGE.has(name)) sweepTemporaries(path, ops, depth + 1)
    if (stats?.isFile() && isLeft(name, stats.ctimeMs)) removeIfThere(ops, path)
  }
}

const MAX_DEPTH = 2
/** Nothing in them is written in this way. */
const LARGE = new Set(['logs', 'objects', 'demo'])
const OLD_MS = 60 * 60 * 1000

function isLeft(name: string, changedMs: number): boolean {
  const match = TEMPORARY_NAME.exec(name)
  if (match === null) return false
  const [, pid] = match
  if (pid === undefined) return Date.now() - changedMs > OLD_MS
  return !isAlive(Number.parseInt(pid, 16))
}

function isAlive(pid: number): boolean {
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
