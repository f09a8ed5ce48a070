import { type GitRepository, git } from '../git/git.ts'
import { snapshotEnvironment } from '../git/snapshot.ts'
import { byteName, shownName, type TreeFile } from '../review/disk-files.ts'
import { type FileMove, type FileMoves, listOf, type MoveCause, parseRaw } from '../review/file-moves.ts'
import { rawTrees, storedFiles } from '../review/raw-trees.ts'
import { workspaceError } from '../workspace-error.ts'

/** The files of a project before and after a turn, as trees. */
export interface TurnTreePair {
  before: string
  after: string
}

export interface BackTo {
  /** The turn to go back before, and all turns after it, oldest first. */
  turns: TurnTreePair[]
  /** The folder of Chirality's own objects. */
  stateFolder: string
}

/** What going back would do to the files. */
export interface BackPlan {
  /** Files that become as they were before the agent changed them. */
  files: string[]
  /** Of these, files that are not as the agent left them: somebody else changed them too. */
  changedSince: string[]
}

/** Changes nothing. */
export async function planBack(repository: GitRepository, back: BackTo): Promise<BackPlan> {
  const { wanted, changedSince } = await compare(repository, back)
  const shown = (name: string) => inProject(repository, shownName(name))
  return { files: [...wanted.keys()].map(shown).sort(), changedSince: changedSince.map(shown).sort() }
}

/** The files that turns changed, from the root of the project. */
export async function filesOfTurns(
  repository: GitRepository,
  { turns, stateFolder }: { turns: { before: string; after?: string }[]; stateFolder: string },
): Promise<string[]> {
  const objects = await snapshotEnvironment(repository, stateFolder)
  const pairs = turns.flatMap(({ before, after }) => (after === undefined ? [] : [{ before, after }]))
  const changes = (await changesOf(repository, pairs, objects)).flat()
  return [...new Set(changes.map(({ name }) => inProject(repository, shownName(name))))]
}

export interface GoBack extends BackTo {
  /** Files that a person changed since, and that are restored all the same. */
  overwrite: string[]
  what: string
  cause: MoveCause
}

/**
 * Restores what the turns changed. A file that a person changed since stays as it is, unless it is in `overwrite`; a
 * file that no turn changed is not touched. Null if no file had to change, except for `back`: its conversation goes back
 * in any case, and the move is what undoes it.
 */
export async function goBack(
  repository: GitRepository,
  moves: FileMoves,
  { overwrite, what, cause, ...back }: GoBack,
): Promise<FileMove | null> {
  const { wanted, changedSince, objects } = await compare(repository, back)
  const allowed = new Set(overwrite.map(file => byteName(inRepository(repository, file))))
  const unknown = [...allowed].filter(name => !wanted.has(name))
  if (unknown.length > 0)
    throw workspaceError(
      'review-refused',
      `${listOf(unknown.map(shownName))} is not a file that these turns changed. Nothing was changed.`,
    )
  for (const name of changedSince) if (!allowed.has(name)) wanted.delete(name)
  if (wanted.size === 0 && cause.kind !== 'back') return null
  const trees = await rawTrees(repository, wanted, objects)
  if (trees.from === trees.to && cause.kind !== 'back') return null
  return moves.move({ ...trees, what, cause })
}

async function compare(
  repository: GitRepository,
  { turns, stateFolder }: BackTo,
): Promise<{
  wanted: Map<string, TreeFile | null>
  changedSince: string[]
  objects: Record<string, string>
}> {
  const objects = await snapshotEnvironment(repository, stateFolder)
  const wanted = new Map<string, TreeFile | null>()
  const left = new Map<string, TreeFile | null>()
  const mixed = new Set<string>()
  for (const changes of await changesOf(repository, turns, objects)) {
    for (const { name, from, to } of changes) {
      if (repository.prefix !== '' && !name.startsWith(byteName(`${repository.prefix}/`))) continue
      if (!wanted.has(name)) wanted.set(name, from)
      else if (!isSame(left.get(name), from)) mixed.add(name)
      left.set(name, to)
    }
  }
  const now = await storedFiles(repository, [...wanted.keys()], objects)
  const changedSince: string[] = []
  for (const [name, target] of wanted) {
    // It is already as it was.
    if (isSame(now.get(name), target)) wanted.delete(name)
    else if (mixed.has(name) || !isSame(now.get(name), left.get(name))) changedSince.push(name)
  }
  return { wanted, changedSince, objects }
}

/** One git for all turns. */
async function changesOf(
  repository: GitRepository,
  turns: readonly TurnTreePair[],
  env: Record<string, string>,
): Promise<ReturnType<typeof parseRaw>[]> {
  const pairs = turns.filter(({ before, after }) => before !== after)
  if (pairs.length === 0) return []
  const output = await git(
    repository,
    ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--stdin'],
    {
      env,
      input: pairs.map(({ before, after }) => `${before} ${after}\n`).join(''),
      maxBytes: MAX_LIST_BYTES,
      timeoutMs: TIMEOUT_MS,
    },
  )
  // The line that names a pair comes right before its first file; a file begins with a colon.
  const changes: ReturnType<typeof parseRaw>[] = []
  const words = output.toString('latin1').split('\0')
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [, entry = ''] = /^(?:[0-9a-f]+ [0-9a-f]+\n)?(:.*)$/s.exec(words[i] ?? '') ?? []
    if (entry !== words[i]) changes.push([])
    changes.at(-1)?.push(...parseRaw(`${entry}\0${words[i + 1]}\0`))
  }
  return changes
}

function isSame(a: TreeFile | null | undefined, b: TreeFile | null | undefined): boolean {
  return a === b || (a?.id === b?.id && a?.mode === b?.mode)
}

function inRepository({ prefix }: GitRepository, file: string): string {
  return prefix === '' ? file : `${prefix}/${file}`
}

function inProject({ prefix }: GitRepository, file: string): string {
  return prefix !== '' && file.startsWith(`${prefix}/`) ? file.slice(prefix.length + 1) : file
}

const MAX_LIST_BYTES = 256 * 1024 * 1024
const TIMEOUT_MS = 60_000
