import { lstat } from 'node:fs/promises'
import path from 'node:path'
import type { GitRepository } from './git.ts'

/** The repository that a project is in, or undefined. Executes nothing in it. */
export async function findRepository(root: string): Promise<GitRepository | undefined> {
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (await isRepository(path.join(folder, '.git'))) {
      const prefix = path.relative(folder, root).split(path.sep).join('/')
      return { top: folder, prefix, overrides: [] }
    }
    if (folder === path.dirname(folder)) return undefined
  }
}

/** Checks the owner too, because git does not check it when the folder is given explicitly. */
async function isRepository(gitFolder: string): Promise<boolean> {
  const stats = await lstat(gitFolder).catch(() => undefined)
  if (stats === undefined || (process.geteuid !== undefined && stats.uid !== process.geteuid())) return false
  // A linked work tree has a `.git` file that names its repository.
  if (stats.isFile()) return true
  const head = await lstat(path.join(gitFolder, 'HEAD')).catch(() => undefined)
  return stats.isDirectory() && head !== undefined
}
