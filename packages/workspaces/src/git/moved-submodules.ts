import { lstat } from 'node:fs/promises'
import path from 'node:path'
import type { MovedSubmodule } from './changes.ts'
import { type GitRepository, git } from './git.ts'

/**
 * The submodules of a work tree that are at another commit than its last commit names. Only where they are is read: to
 * look for changes in them git would run the programs that their config names.
 */
export async function movedSubmodules(repository: GitRepository): Promise<MovedSubmodule[]> {
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
  // The file may name anything: only what the last commit has as a submodule counts.
  const raw = await differences(repository, ['--raw', '-z'], places.slice(0, MAX_SUBMODULES))
  const moved: MovedSubmodule[] = []
  for (const [, place = ''] of raw.matchAll(/:160000 \d+ [0-9a-f]+ [0-9a-f]+ [A-Z]\0([^\0]+)\0/g)) {
    const [, from, to] = SUBPROJECT.exec(await differences(repository, ['-p'], [place])) ?? []
    const own = repository.prefix === '' ? place : place.slice(repository.prefix.length + 1)
    if (from !== undefined) moved.push({ path: own, from, to: to ?? null })
  }
  return moved
}

/** Plumbing: `git diff` would write the user's index. */
async function differences(repository: GitRepository, format: string[], places: string[]): Promise<string> {
  const safe = ['--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--submodule=short']
  const args = ['diff-index', ...safe, '--ignore-submodules=dirty', ...format, 'HEAD', '--', ...places]
  const output = await git(repository, args, {
    ...{ env: { GIT_LITERAL_PATHSPECS: '1' }, cuts: true },
    // Before the first commit there is nothing that a submodule could differ from.
    okCodes: [0, 128],
  })
  return output.toString('utf8')
}

const SUBPROJECT = /^-Subproject commit ([0-9a-f]+)$(?:\n\+Subproject commit ([0-9a-f]+)$)?/m
const MAX_SUBMODULES = 100
