import { lstat } from 'node:fs/promises'
import path from 'node:path'
import type { MovedSubmodule } from './changes.ts'
import { type GitRepository, git } from './git.ts'
import { headTree } from './snapshot.ts'

/**
 * The submodules that are at another commit than the last commit names. Reads only their position: to look for changes
 * in them, git would run the programs that their config names.
 */
export async function movedSubmodules(
  repository: GitRepository,
  knownHead?: string,
): Promise<MovedSubmodule[]> {
  const file = path.join(repository.top, '.gitmodules')
  if (!(await lstat(file).catch(() => undefined))?.isFile()) return []
  const named = await git(
    repository,
    ['config', '--file', file, '-z', '--get-regexp', '^submodule\\..*\\.path$'],
    // 3 and 128: the file is no valid config.
    { okCodes: [0, 1, 3, 128] },
  )
  const places = named
    .toString('utf8')
    .split('\0')
    .map(entry => entry.slice(entry.indexOf('\n') + 1))
    .filter(place => place !== '' && !path.isAbsolute(place) && !place.split('/').includes('..'))
    .filter(place => repository.prefix === '' || place.startsWith(`${repository.prefix}/`))
  if (places.length === 0) return []
  const head = knownHead ?? (await headTree(repository))
  const differences = (format: string[], places: string[]) =>
    differencesFrom(repository, head, format, places)
  // The file may name anything, so only submodules in git's own view count.
  const raw = await differences(['--raw', '-z'], places.slice(0, MAX_SUBMODULES))
  const moved: MovedSubmodule[] = []
  for (const [, was, is, , , place = ''] of raw.matchAll(ENTRY)) {
    if (was !== SUBMODULE && is !== SUBMODULE) continue
    const patch = await differences(['-p'], [place])
    const pattern = was === SUBMODULE ? MOVED : NEW
    const { from = null, to = null } = pattern.exec(patch)?.groups ?? {}
    const own = repository.prefix === '' ? place : place.slice(repository.prefix.length + 1)
    if (from !== null || to !== null) moved.push({ path: own, from, to })
  }
  return moved
}

/** The submodules for which two trees name different commits. */
export async function submodulesBetween(
  repository: GitRepository,
  [from, to]: [from: string, to: string],
  env: Record<string, string>,
): Promise<MovedSubmodule[]> {
  if (from === to) return []
  const scope = repository.prefix === '' ? [] : [`--relative=${repository.prefix}/`]
  const format = ['-r', '--raw', '-z', '--no-abbrev', '--no-renames', '--ignore-submodules=dirty']
  const raw = await git(repository, ['diff-tree', ...format, ...scope, from, to], {
    env,
    maxBytes: MAX_LIST_BYTES,
    cuts: true,
  })
  return [...raw.toString('utf8').matchAll(ENTRY)].flatMap(
    ([, was, is, before = '', after = '', place = '']) => {
      if (was !== SUBMODULE && is !== SUBMODULE) return []
      return [{ path: place, from: was === SUBMODULE ? before : null, to: is === SUBMODULE ? after : null }]
    },
  )
}

/**
 * The submodules that a turn set to another commit: those that the trees name differently (`named`), and those that
 * differed from their tree at the start or the end of the turn.
 */
export function submodulesOfTurn({ named, before, after }: MovedInTurn): MovedSubmodule[] {
  const paths = new Set([...named, ...before, ...after].map(moved => moved.path))
  return [...paths].flatMap(place => {
    const [tree, began, ended] = [named, before, after].map(list => list.find(({ path }) => path === place))
    const from = began === undefined ? (tree ?? ended)?.from : began.to
    const to = ended === undefined ? (tree === undefined ? began?.from : tree.to) : ended.to
    return from === undefined || to === undefined || from === to ? [] : [{ path: place, from, to }]
  })
}

export interface MovedInTurn {
  named: readonly MovedSubmodule[]
  before: readonly MovedSubmodule[]
  after: readonly MovedSubmodule[]
}

const MAX_LIST_BYTES = 8 * 1024 * 1024

/** Uses plumbing, because `git diff` would write the user's index. */
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

/** Mode of a submodule in a tree. */
const SUBMODULE = '160000'
const ENTRY = /:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\0([^\0]+)\0/g
const MOVED = /^-Subproject commit (?<from>[0-9a-f]+)$(?:\n\+Subproject commit (?<to>[0-9a-f]+)$)?/m
const NEW = /^\+Subproject commit (?<to>[0-9a-f]+)$/m
const MAX_SUBMODULES = 100
