import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import type { Worktree } from './worktree-records.ts'

/** Disk use of a worktree. The objects of its commits are in the repository. */
export async function diskUse({ folder }: Pick<Worktree, 'folder'>): Promise<number> {
  let bytes = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const here = next
    // A folder that disappears meanwhile counts as empty.
    const entries = await readdir(here, { withFileTypes: true }).catch(() => [])
    const files: string[] = []
    for (const entry of entries) (entry.isDirectory() ? folders : files).push(path.join(here, entry.name))
    for (let i = 0; i < files.length; i += STATS_AT_ONCE) {
      const stats = files.slice(i, i + STATS_AT_ONCE).map(file => lstat(file).catch(() => undefined))
      for (const found of await Promise.all(stats)) bytes += (found?.blocks ?? 0) * BLOCK_BYTES
    }
  }
  return bytes
}

const STATS_AT_ONCE = 64
const BLOCK_BYTES = 512
