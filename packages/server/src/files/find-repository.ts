import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { distrust } from './distrust.ts'
import type { GitRepository } from './git.ts'

/** The repository that a project is in, or undefined. Nothing in it is run by finding it. */
export async function findRepository(root: string): Promise<GitRepository | undefined> {
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (await isRepository(path.join(folder, '.git'))) {
      const prefix = path.relative(folder, root).split(path.sep).join('/')
      return { top: folder, prefix, overrides: await distrust(folder) }
    }
    if (folder === path.dirname(folder)) return undefined
  }
}

/** As git sees it; and ours, for with an explicit folder git no longer asks whose it is. */
async function isRepository(gitFolder: string): Promise<boolean> {
  const stats = await lstat(gitFolder).catch(() => undefined)
  if (stats === undefined || (process.geteuid !== undefined && stats.uid !== process.geteuid())) return false
  // A work tree of its own has a file that says where the rest is.
  if (stats.isFile()) return true
  const head = await lstat(path.join(gitFolder, 'HEAD')).catch(() => undefined)
  return stats.isDirectory() && head !== undefined
}
