import { type GitSetting, git } from './git.ts'

/**
 * Settings on top of those that a repository brings itself. Of the user's own the filters are trusted (of LFS, say); whoever made
 * the repository could have written anything into its config.
 */
export async function distrust(top: string): Promise<GitSetting[]> {
  const listed = await git({ top, overrides: [] }, ['config', '--list', '--show-scope', '--name-only', '-z'])
  const words = listed.toString('utf8').split('\0')
  const names = new Set<string>()
  for (let i = 0; i + 1 < words.length; i += 2) {
    if (words[i] === 'local' || words[i] === 'worktree') names.add(words[i + 1] ?? '')
  }
  const filters = new Set([...names].flatMap(name => /^filter\.(.+)\.[^.]+$/s.exec(name)?.[1] ?? []))
  return [
    ...[...filters].flatMap(withoutFilter),
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

/** Read to their end, which /dev/zero does not have. As `git config` spells them. */
const FILES = ['core.attributesfile', 'core.excludesfile']
