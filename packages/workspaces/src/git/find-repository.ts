import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { type GitRepository, type GitSetting, git } from './git.ts'

/** The repository that a project is in, or undefined. Nothing in it is executed. */
export async function findRepository(root: string): Promise<GitRepository | undefined> {
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (await isRepository(path.join(folder, '.git'))) {
      const prefix = path.relative(folder, root).split(path.sep).join('/')
      return { top: folder, prefix, overrides: await distrust(folder) }
    }
    if (folder === path.dirname(folder)) return undefined
  }
}

/** Checks the owner too, because git does not check it when the folder is given explicitly. */
async function isRepository(gitFolder: string): Promise<boolean> {
  const stats = await lstat(gitFolder).catch(() => undefined)
  if (stats === undefined || (process.geteuid !== undefined && stats.uid !== process.geteuid())) return false
  // A linked work tree has a `.git` file that names the repository.
  if (stats.isFile()) return true
  const head = await lstat(path.join(gitFolder, 'HEAD')).catch(() => undefined)
  return stats.isDirectory() && head !== undefined
}

/**
 * Settings that override those of the repository. The filters in the user's own config are trusted (for example LFS);
 * the repository's config could contain anything.
 */
async function distrust(top: string): Promise<GitSetting[]> {
  const listed = await git({ top, overrides: [] }, ['config', '--list', '--show-scope', '--name-only', '-z'])
  const words = listed.toString('utf8').split('\0')
  const names = new Set<string>()
  for (let i = 0; i + 1 < words.length; i += 2) {
    if (words[i] === 'local' || words[i] === 'worktree') names.add(words[i + 1] ?? '')
  }
  const filters = new Set([...names].flatMap(name => /^filter\.(.+)\.[^.]+$/s.exec(name)?.[1] ?? []))
  return [
    ...[...filters].flatMap(withoutFilter),
    // A merge driver runs a command for each file that both sides changed: these merge as text.
    ...[...names].flatMap((name): GitSetting[] =>
      /^merge\..+\.driver$/s.test(name) ? [[name, TEXT_MERGE]] : [],
    ),
    // A trusted LFS runs the extensions that any config names.
    ...[...names].flatMap((name): GitSetting[] => (/^lfs\.extension\./.test(name) ? [[name, '']] : [])),
    ...FILES.flatMap((name): GitSetting[] => (names.has(name) ? [[name, '/dev/null']] : [])),
  ]
}

/** Filters run a command for each file. */
function withoutFilter(driver: string): GitSetting[] {
  return [
    [`filter.${driver}.clean`, ''],
    [`filter.${driver}.smudge`, ''],
    [`filter.${driver}.process`, ''],
    [`filter.${driver}.required`, 'false'],
  ]
}

const TEXT_MERGE = 'git merge-file --marker-size=%L %A %O %B'

/** These files are read to their end, and /dev/zero has none. Spelled as in `git config`. */
const FILES = ['core.attributesfile', 'core.excludesfile', 'mailmap.file']
