import { type GitRepository, git } from '../git/git.ts'
import { notedPermissions } from '../git/permissions.ts'
import { openSnapshots, snapshotEnvironment } from '../git/snapshot.ts'
import { type Differing, isSameFile, parseRaw } from '../review/differing.ts'
import { byteName, listOf, shownName, type TreeFile } from '../review/disk-files.ts'
import type { FileMove, FileMoves } from '../review/file-moves.ts'
import type { MoveCause } from '../review/move-commit.ts'
import { type FoundFiles, findOnDisk, rawTrees, restorable } from '../review/raw-trees.ts'
import { workspaceError } from '../workspace-error.ts'

/** The files of a project before and after a turn, as trees. */
export interface TurnTreePair {
  before: string
  after: string
  /** True if `after` was recorded some time after the turn, and may include changes by others. */
  isLate?: boolean
}

export interface BackTo {
  /** The turn to go back before, and all turns after it, oldest first. */
  turns: TurnTreePair[]
  /** The folder of Chirality's own objects. */
  stateFolder: string
}

/** Effects of going back on the files. */
export interface BackPlan {
  /** Files that return to their state before the agent changed them. */
  files: string[]
  /** Files among them that somebody else changed after the agent. */
  changedSince: string[]
  /** Nested repositories. Their files are in no snapshot and stay as they are. */
  repositories: string[]
  /**
   * Number of `files` that git writes with other line endings or through a filter, so that they may differ from the
   * originals.
   */
  converted: number
}

/** Computes the effects of going back. Changes nothing. */
export async function planBack(repository: GitRepository, back: BackTo): Promise<BackPlan> {
  const changed = await changedByTurns(repository, back)
  const { wanted, objects, head } = changed
  const found = await findOnDisk(repository, [...wanted.keys()], { env: objects, head })
  const changedSince = compare(changed, found)
  const shown = (name: string) => inProject(repository, shownName(name))
  const restored = [...wanted].flatMap(([name, file]) => (file === null ? [] : [name]))
  return {
    files: [...wanted.keys()].map(shown).sort(),
    changedSince: changedSince.map(shown).sort(),
    repositories: (await innerRepositories(repository)).map(shown).sort(),
    converted: restored.filter(name => !found.seen.has(name)).length,
  }
}

/** The files that turns changed, relative to the root of the project. */
export async function filesOfTurns(
  repository: GitRepository,
  { turns, stateFolder }: { turns: { before: string; after?: string }[]; stateFolder: string },
): Promise<string[]> {
  const objects = await snapshotEnvironment(repository, stateFolder)
  const pairs = turns.flatMap(({ before, after }) => (after === undefined ? [] : [{ before, after }]))
  const changes = (await changesOf(repository, pairs, objects)).flatMap(turn => turn.changes)
  return [...new Set(changes.map(({ name }) => inProject(repository, shownName(name))))]
}

export interface GoBack extends BackTo {
  /** Files that a person changed since and that are restored nevertheless. */
  overwrite: string[]
  what: string
  cause: MoveCause
}

/**
 * Restores the files that the turns changed. A file that a person changed since stays as it is unless it is in
 * `overwrite`; other files are not touched. Null if no file had to change, except for `back`: its conversation goes
 * back in any case, and the move is needed to undo that.
 */
export async function goBack(
  repository: GitRepository,
  moves: FileMoves,
  { overwrite, what, cause, ...back }: GoBack,
): Promise<FileMove | null> {
  const changed = await changedByTurns(repository, back)
  const { wanted, origins, objects, head } = changed
  // In parallel, because one waits for git and the other for the disk.
  const [found, restored] = await Promise.all([
    findOnDisk(repository, [...wanted.keys()], { env: objects, head }),
    restorable(repository, wanted.values(), objects),
  ])
  const changedSince = compare(changed, found)
  const allowed = new Set(overwrite.map(file => byteName(inRepository(repository, file))))
  const unknown = [...allowed].filter(name => !wanted.has(name))
  if (unknown.length > 0)
    throw workspaceError(
      'review-refused',
      `${listOf(unknown.map(shownName))} is not a file that these turns changed. Nothing was changed.`,
    )
  for (const name of changedSince) if (!allowed.has(name)) wanted.delete(name)
  if (wanted.size === 0 && cause.kind !== 'back') return null
  const trees = await rawTrees(repository, wanted, { restored, found, head })
  if (trees.from === trees.to && cause.kind !== 'back') return null
  const permissions = await permissionsBefore(back.stateFolder, { wanted, origins })
  return moves.move({ ...trees, what, cause, permissions })
}

/** Unusual permissions of the restored files. */
async function permissionsBefore(
  stateFolder: string,
  { wanted, origins }: { wanted: ReadonlyMap<string, unknown>; origins: ReadonlyMap<string, string> },
): Promise<Map<string, number>> {
  const permissions = new Map<string, number>()
  for (const tree of new Set(origins.values()))
    for (const [name, bits] of await notedPermissions(stateFolder, tree))
      if (wanted.has(name) && origins.get(name) === tree) permissions.set(name, bits)
  return permissions
}

/** Nested repositories that are not submodules. */
async function innerRepositories(repository: GitRepository): Promise<string[]> {
  const options = ['--porcelain=v1', '-z', '--untracked-files=all', '--no-renames', '--ignore-submodules=all']
  const listed = await git(repository, ['status', ...options, '--', repository.prefix || '.'], {
    maxBytes: MAX_LIST_BYTES,
    timeoutMs: TIMEOUT_MS,
  })
  const names = listed.toString('latin1').split('\0')
  return names.flatMap(entry => /^\?\? (.+)\/$/s.exec(entry)?.[1] ?? [])
}

interface ChangedByTurns {
  /** The files before the first turn that changed them. */
  wanted: Map<string, TreeFile | null>
  /** The files after the last of these turns. */
  left: Map<string, TreeFile | null>
  /** Files that somebody else changed between the turns. */
  mixed: Set<string>
  /** The tree with the wanted state of each file. */
  origins: Map<string, string>
  objects: Record<string, string>
  /** The tree of the last commit. */
  head: string
}

async function changedByTurns(
  repository: GitRepository,
  { turns, stateFolder }: BackTo,
): Promise<ChangedByTurns> {
  const { env: objects, head } = await openSnapshots(repository, stateFolder)
  const wanted = new Map<string, TreeFile | null>()
  const left = new Map<string, TreeFile | null>()
  const mixed = new Set<string>()
  const origins = new Map<string, string>()
  for (const { isLate, before, changes } of await changesOf(repository, turns, objects)) {
    for (const { name, from, to } of changes) {
      if (repository.prefix !== '' && !name.startsWith(byteName(`${repository.prefix}/`))) continue
      // A nested repository is never touched.
      if (from?.mode === REPOSITORY || to?.mode === REPOSITORY) continue
      if (!wanted.has(name)) {
        wanted.set(name, from)
        origins.set(name, before)
      } else if (!isSameFile(left.get(name), from)) mixed.add(name)
      if (isLate) mixed.add(name)
      left.set(name, to)
    }
  }
  return { wanted, left, mixed, origins, objects, head }
}

/** Reduces `wanted` to the files that have to change. Returns those that somebody else changed since. */
function compare({ wanted, left, mixed }: ChangedByTurns, { files: now }: FoundFiles): string[] {
  const changedSince: string[] = []
  for (const [name, target] of wanted) {
    // The file has its earlier state already.
    if (isSameFile(now.get(name), target)) wanted.delete(name)
    else if (mixed.has(name) || !isSameFile(now.get(name), left.get(name))) changedSince.push(name)
  }
  return changedSince
}

interface ChangesOfTurn {
  isLate: boolean
  before: string
  changes: Differing[]
}

/** The changes of all turns, from one git process. */
async function changesOf(
  repository: GitRepository,
  turns: readonly TurnTreePair[],
  env: Record<string, string>,
): Promise<ChangesOfTurn[]> {
  const pairs = turns.filter(({ before, after }) => before !== after)
  if (pairs.length === 0) return []
  const lineOf = ({ before, after }: TurnTreePair) => `${before} ${after}\n`
  const late = new Set(pairs.filter(({ isLate }) => isLate).map(lineOf))
  const output = await git(
    repository,
    ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--stdin'],
    {
      env,
      input: pairs.map(lineOf).join(''),
      maxBytes: MAX_LIST_BYTES,
      timeoutMs: TIMEOUT_MS,
    },
  )
  // The line with a pair of trees precedes its first file; a file starts with a colon.
  const found: ChangesOfTurn[] = []
  const words = output.toString('latin1').split('\0')
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [, line, entry = ''] = /^([0-9a-f]+ [0-9a-f]+\n)?(:.*)$/s.exec(words[i] ?? '') ?? []
    if (line !== undefined)
      found.push({ isLate: late.has(line), before: line.split(' ')[0] ?? '', changes: [] })
    found.at(-1)?.changes.push(...parseRaw(`${entry}\0${words[i + 1]}\0`))
  }
  return found
}

function inRepository({ prefix }: GitRepository, file: string): string {
  return prefix === '' ? file : `${prefix}/${file}`
}

function inProject({ prefix }: GitRepository, file: string): string {
  return prefix !== '' && file.startsWith(`${prefix}/`) ? file.slice(prefix.length + 1) : file
}

const REPOSITORY = '160000'
const MAX_LIST_BYTES = 256 * 1024 * 1024
const TIMEOUT_MS = 60_000
