import { lstat } from 'node:fs/promises'
import path from 'node:path'
import type { MovedSubmodule } from './changes.ts'
import { type GitRepository, git } from './git.ts'

/**
 * The submodules of a work tree that are at another commit than the tree of its last commit names. Only where they are is
 * read: to look for changes in them git would run the programs that their config names.
 */
export async function movedSubmodules(repository: GitRepository, head: string): Promise<MovedSubmodule[]> {
  const differences = (format: string[], places: string[]) =>
    differencesFrom(repository, head, format, places)
  const file = path.join(repository.top, '.gitmodules')
  if (!(await lstat(file).catch(() => undefined))?.isFile()) return []
  const named = await git(
    repository,
    ['config', '--file', file, '-z', '--get-regexp', '^submodule\\..*\\.path$'],
    // 3, 128: it cannot be read as a config.
    { okCodes: [0, 1, 3, 128] },
  )
  const places = named
    .toString('utf8')
    .split('\0')
    .map(entry => entry.slice(entry.indexOf('\n') + 1))
    .filter(place => place !== '' && !path.isAbsolute(place) && !place.split('/').includes('..'))
    .filter(place => repository.prefix === '' || place.startsWith(`${repository.prefix}/`))
  if (places.length === 0) return []
  // The file may name anything: only what is a submodule for git counts.
  const raw = await differences(['--raw', '-z'], places.slice(0, MAX_SUBMODULES))
  const moved: MovedSubmodule[] = []
  for (const [, was, is, place = ''] of raw.matchAll(ENTRY)) {
    if (was !== SUBMODULE && is !== SUBMODULE) continue
    const patch = await differences(['-p'], [place])
    const pattern = was === SUBMODULE ? MOVED : NEW
    const { from = null, to = null } = pattern.exec(patch)?.groups ?? {}
    const own = repository.prefix === '' ? place : place.slice(repository.prefix.length + 1)
    if (from !== null || to !== null) moved.push({ path: own, from, to })
  }
  return moved
}

/** Plumbing: `git diff` would write the user's index. */
async function differencesFrom(
  repository: GitRepository,
  head: string,
  format: string[],
  places: string[],
): Promise<string> {
  const safe = ['--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--submodule=short']
  const args = ['diff-index', ...safe, '--ignore-submodules=dirty', ...format, head, '--', ...places]
  const output = await git(repository, args, { env: { GIT_LITERAL_PATHSPECS: '1' }, cuts: true })
  return output.toString('utf8')
}

/** The mode of a submodule in a tree. */
const SUBMODULE = '160000'
const ENTRY = /:(\d+) (\d+) [0-9a-f]+ [0-9a-f]+ [A-Z]\0([^\0]+)\0/g
const MOVED = /^-Subproject commit (?<from>[0-9a-f]+)$(?:\n\+Subproject commit (?<to>[0-9a-f]+)$)?/m
const NEW = /^\+Subproject commit (?<to>[0-9a-f]+)$/m
const MAX_SUBMODULES = 100
