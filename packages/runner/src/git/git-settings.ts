export type GitSetting = [name: string, value: string]

/** Lists the names of all settings with where each is from, for `repositoryNames`. It runs no program. */
export const LIST_NAMES = ['config', '--list', '--show-scope', '--name-only', '-z']

/** Names in the config of the repository and of the work tree, and in files that these include. */
export function repositoryNames(listed: string): Set<string> {
  const words = listed.split('\0')
  const names = new Set<string>()
  for (let i = 0; i + 1 < words.length; i += 2)
    if (words[i] === 'local' || words[i] === 'worktree') names.add(words[i + 1] ?? '')
  return names
}

/**
 * Settings that override the programs which a repository itself names. The filters in the user's own config are trusted
 * (for example LFS); the repository's config could contain anything.
 */
export function settingsAgainst(names: ReadonlySet<string>): GitSetting[] {
  const filters = new Set([...names].flatMap(name => /^filter\.(.+)\.[^.]+$/s.exec(name)?.[1] ?? []))
  return [
    ...[...filters].flatMap(withoutFilter),
    // A merge driver runs a command for each file that both sides changed: these merge as text.
    ...[...names].flatMap((name): GitSetting[] =>
      /^merge\..+\.driver$/s.test(name) ? [[name, TEXT_MERGE]] : [],
    ),
    // A trusted LFS runs the extensions and the transfer programs that any config names.
    ...[...names].flatMap((name): GitSetting[] => (LFS_PROGRAM.test(name) ? [[name, '']] : [])),
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
const LFS_PROGRAM =
  /^lfs\.(?:extension\.|customtransfer\.|standalonetransferagent$|.*\.standalonetransferagent$)/s

/** These files are read to their end, and /dev/zero has none. Spelled as in `git config`. */
const FILES = ['core.attributesfile', 'core.excludesfile', 'mailmap.file']

/** The variable that says how many settings the environment has. With 0, git reads none of them. */
export const COUNT_VARIABLE = 'GIT_CONFIG_COUNT'

/** Through the environment and not with `-c`, which splits at the first `=` of a name. `first`: how many it has. */
export function configEnvironment(settings: readonly GitSetting[], first = 0): Record<string, string> {
  const pairs = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, name],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ])
  return { [COUNT_VARIABLE]: String(first + settings.length), ...Object.fromEntries(pairs) }
}
