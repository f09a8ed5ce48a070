import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { ensurePrivateDirectory } from '@chirality/disk'
import { editedTree, fileOnDisk, type TreeEdit } from './edited-tree.ts'
import { type GitOptions, type GitRepository, git } from './git.ts'
import { writeHeadIndex } from './head-index.ts'
import { notePermissions } from './permissions.ts'

/** A tree object with all files of the project in their current state. */
export interface Snapshot {
  tree: string
}

export interface SnapshotLimits {
  /** Disk space limit of all snapshots of a project, without the one being made. */
  maxBytes: number
  maxObjects: number
  /** A larger file is stored only if git already has it. */
  maxFileBytes: number
}

export const SNAPSHOT_LIMITS: SnapshotLimits = {
  maxBytes: 512 * 1024 * 1024,
  maxObjects: 100_000,
  maxFileBytes: 5 * 1024 * 1024,
}

/**
 * Records the files of a project as a git tree, with a separate index and object folder: the user's index, refs and
 * objects are only read. Ignored files are left out. A large file that git does not have is replaced by a line that
 * says so.
 */
export async function takeSnapshot(
  repository: GitRepository,
  stateFolder: string,
  limits: Partial<SnapshotLimits> = {},
): Promise<Snapshot> {
  return snapshotIn(repository, await openSnapshots(repository, stateFolder), limits)
}

export async function snapshotIn(
  repository: GitRepository,
  { stateFolder, env, head }: OpenSnapshots,
  { maxFileBytes = SNAPSHOT_LIMITS.maxFileBytes }: Partial<SnapshotLimits>,
): Promise<Snapshot> {
  const folder = await mkdtemp(path.join(stateFolder, INDEX_PREFIX))
  const target = path.join(folder, 'index')
  const withIndex = { env: { ...env, GIT_INDEX_FILE: target }, timeoutMs: SNAPSHOT_TIMEOUT_MS }
  try {
    if (head !== EMPTY_TREE)
      await writeHeadIndex(repository, { stateFolder, head, target, env, timeoutMs: SNAPSHOT_TIMEOUT_MS })
    const changed = await changedFiles(repository, withIndex)
    if (changed.length === 0) return { tree: head }
    const place = placeOf(repository, stateFolder)
    // Taken before the files are read: a later change has other marks.
    const marks = await marksOf(repository, changed, [head, maxFileBytes, repository.overrides])
    const known = lastSnapshots.get(place)
    if (known !== undefined && known.marks === marks && (await hasObject(stateFolder, known.tree)))
      return { tree: known.tree }
    const tree =
      (await treeOfEdits(repository, { stateFolder, head, changed, options: withIndex, maxFileBytes })) ??
      (await treeOfIndex(repository, await largeOf(repository, changed, maxFileBytes), withIndex))
    // Without them a private file would come back readable, but the snapshot itself is still valid.
    const names = changed.map(({ name }) => name)
    await notePermissions(repository, { stateFolder, tree, names }).catch(() => {})
    remember(place, marks === undefined ? undefined : { marks, tree })
    return { tree }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface ChangedName {
  /** Bytes as `latin1`, because a name need not be UTF-8. */
  name: string
  isNew: boolean
  /** Mode in the work tree, 000000 if deleted. Undefined for a new file. */
  mode?: string | undefined
}

/**
 * Lists the differences from the last commit. Uses `git status`, which checks files in several threads, unlike `git
 * ls-files`.
 */
async function changedFiles(repository: GitRepository, options: GitOptions): Promise<ChangedName[]> {
  const wanted = ['--untracked-files=all', '--no-renames', '--ignore-submodules=all', '-z']
  const listed = await git(
    repository,
    ['status', '--porcelain=v2', ...wanted, '--', repository.prefix || '.'],
    {
      ...options,
      maxBytes: MAX_LIST_BYTES,
    },
  )
  const files = new Map<string, ChangedName>()
  for (const entry of listed.toString('latin1').split('\0')) {
    // Entries that only the index has are no difference of a file.
    const [, mode, found] = /^(?:\? |1 .[^.] [^ ]+ [^ ]+ [^ ]+ ([^ ]+) [^ ]+ [^ ]+ )(.+)$/s.exec(entry) ?? []
    // The name of a nested repository ends with a slash.
    const name = found?.replace(/\/$/, '')
    if (name !== undefined) files.set(name, { name, isNew: entry.startsWith('?'), mode })
  }
  return [...files.values()]
}

/** The marks of the last snapshot of a work tree. While they are equal, so is its tree. */
interface LastSnapshot {
  marks: string
  tree: string
}

const lastSnapshots = new Map<string, LastSnapshot>()

/** The tree of the last snapshot. It may have been trimmed since. */
export function lastTree(repository: GitRepository, stateFolder: string): string | undefined {
  return lastSnapshots.get(placeOf(repository, stateFolder))?.tree
}

function placeOf({ top, prefix }: GitRepository, stateFolder: string): string {
  return `${stateFolder}\0${top}\0${prefix}`
}

const MAX_REMEMBERED = 100

function remember(place: string, snapshot: LastSnapshot | undefined): void {
  lastSnapshots.delete(place)
  if (snapshot !== undefined) lastSnapshots.set(place, snapshot)
  const [oldest] = lastSnapshots.keys()
  if (lastSnapshots.size > MAX_REMEMBERED && oldest !== undefined) lastSnapshots.delete(oldest)
}

/**
 * Marks that change whenever a file changes. Undefined where that is not certain: nested repositories, very many files,
 * and files changed so recently that the next change could have the same time.
 */
async function marksOf(
  repository: GitRepository,
  changed: readonly ChangedName[],
  about: readonly unknown[],
): Promise<string | undefined> {
  if (changed.length > MAX_MARKED) return undefined
  const now = BigInt(Date.now()) * NS_PER_MS
  const marks: string[] = [JSON.stringify(about)]
  const found = await inBatches(changed, ({ name }) =>
    lstat(fileOnDisk(repository, name), { bigint: true }).catch(() => undefined),
  )
  for (const [index, { name, isNew }] of changed.entries()) {
    const facts = found[index]
    if (facts !== undefined && !facts.isFile() && !facts.isSymbolicLink()) return undefined
    const { ctimeNs = 0n, mtimeNs, size, mode, ino } = facts ?? {}
    // File systems with whole seconds are rare and need a longer age.
    const ageMs = ctimeNs % NS_PER_SECOND === 0n ? 2500n : 100n
    if (facts !== undefined && ctimeNs > now - ageMs * NS_PER_MS) return undefined
    marks.push([isNew, mode, ino, size, mtimeNs, ctimeNs, name].join(' '))
  }
  return marks.join('\0')
}

/** Works in batches: one at a time, a thousand files take as long as git itself. */
async function inBatches<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < all.length; at += BATCH)
    results.push(...(await Promise.all(all.slice(at, at + BATCH).map(work))))
  return results
}

const BATCH = 100
const MAX_MARKED = 2000
const NS_PER_MS = 1_000_000n
const NS_PER_SECOND = 1_000_000_000n

/** True if the object is stored. All objects are deleted together, see `trimSnapshots()`. */
async function hasObject(stateFolder: string, id: string): Promise<boolean> {
  const file = path.join(stateFolder, 'objects', id.slice(0, 2), id.slice(2))
  return (await lstat(file).catch(() => undefined)) !== undefined
}

interface FilesToAdd {
  names: string[]
  large: { name: string; note: string }[]
}

/**
 * Separates large new files, of which each version would be stored whole. A note with size and time still shows their
 * changes.
 */
async function largeOf(
  repository: GitRepository,
  changed: readonly ChangedName[],
  maxFileBytes: number,
): Promise<FilesToAdd> {
  const files: FilesToAdd = { names: [], large: [] }
  const found = await inBatches(changed, async ({ name, isNew }) =>
    isNew ? lstat(fileOnDisk(repository, name)).catch(() => undefined) : undefined,
  )
  for (const [index, { name }] of changed.entries()) {
    const facts = found[index]
    if (facts?.isFile() && facts.size > maxFileBytes) {
      const note = `Not kept: ${facts.size} bytes, more than ${maxFileBytes}. Last changed ${facts.mtime.toISOString()}.\n`
      files.large.push({ name, note })
    } else files.names.push(name)
  }
  return files
}

interface EditsOfSnapshot {
  stateFolder: string
  head: string
  changed: readonly ChangedName[]
  options: GitOptions
  maxFileBytes: number
}

/** Builds the tree without an index, for a few files of the usual kinds. Undefined for others. */
async function treeOfEdits(
  repository: GitRepository,
  { stateFolder, head, changed, options, maxFileBytes }: EditsOfSnapshot,
): Promise<string | undefined> {
  if (head === EMPTY_TREE) return undefined
  const edits: TreeEdit[] = []
  for (const { name, isNew, mode } of changed) {
    if (mode === '000000') edits.push({ name, mode: null })
    else if (mode === '100644' || mode === '100755') edits.push({ name, mode })
    else if (isNew && (await isPlain(repository, name, maxFileBytes))) edits.push({ name, mode: '100644' })
    else return undefined
  }
  return editedTree(repository, { tree: head, edits, objects: path.join(stateFolder, 'objects'), options })
}

/** False for executables: a repository can tell git to ignore the executable bit. */
async function isPlain(repository: GitRepository, name: string, maxFileBytes: number): Promise<boolean> {
  const facts = await lstat(fileOnDisk(repository, name)).catch(() => undefined)
  return facts?.isFile() === true && facts.size <= maxFileBytes && (facts.mode & 0o111) === 0
}

async function treeOfIndex(
  repository: GitRepository,
  files: FilesToAdd,
  options: GitOptions,
): Promise<string> {
  await addFiles(repository, files, options)
  return (await git(repository, ['write-tree'], options)).toString('utf8').trim()
}

async function addFiles(
  repository: GitRepository,
  { names, large }: FilesToAdd,
  options: GitOptions,
): Promise<void> {
  const asInput = (text: string) => ({ ...options, input: Buffer.from(text, 'latin1') })
  if (large.length > 0) {
    const entries: string[] = []
    for (const { name, note } of large) {
      const id = await git(repository, ['hash-object', '-w', '--stdin'], { ...options, input: note })
      entries.push(`100644 ${id.toString('latin1').trim()}\t${name}\0`)
    }
    await git(repository, ['update-index', '-z', '--index-info'], asInput(entries.join('')))
    const passed = large.map(({ name }) => `${name}\0`).join('')
    await git(repository, ['update-index', '-z', '--skip-worktree', '--stdin'], asInput(passed))
  }
  if (names.length === 0) return
  const update = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin']
  await git(repository, update, asInput(names.map(name => `${name}\0`).join(''))).catch(() =>
    // One unreadable file ends the update; this call skips it, and checks all files again.
    git(repository, ['add', '--all', '--ignore-errors', '--', repository.prefix || '.'], {
      ...options,
      okCodes: [0, 1],
    }),
  )
}

/**
 * Deletes all snapshots when they use too much space; the changes of old turns are then taken from their tools.
 * Requires that no other reader is active. Resolves with the number of objects left.
 */
export async function trimSnapshots(
  repository: GitRepository,
  stateFolder: string,
  { maxBytes, maxObjects }: SnapshotLimits = SNAPSHOT_LIMITS,
): Promise<number> {
  const env = await snapshotEnvironment(repository, stateFolder)
  await removeLeft(stateFolder)
  const counted = await git(repository, ['count-objects', '-v'], { env })
  const numberOf = (name: string) =>
    Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(counted.toString('utf8'))?.[1] ?? 0)
  const kilobytes = numberOf('size') + numberOf('size-pack') + numberOf('size-garbage')
  if (kilobytes * 1024 <= maxBytes && numberOf('count') <= maxObjects) return numberOf('count')
  await rm(stateFolder, { recursive: true, force: true })
  await mkdir(stateFolder, { recursive: true, mode: 0o700 })
  return 0
}

/** Removes the indexes of killed snapshots: each is as large as the repository's index. */
async function removeLeft(stateFolder: string): Promise<void> {
  for (const entry of await readdir(stateFolder, { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(INDEX_PREFIX)) continue
    const place = path.join(stateFolder, entry.name)
    const facts = await lstat(place).catch(() => undefined)
    if (facts !== undefined && Date.now() - facts.mtimeMs > LEFT_MS)
      await rm(place, { recursive: true, force: true })
  }
}

const INDEX_PREFIX = 'index-'
/** Longer than all commands of a snapshot together may take. */
const LEFT_MS = 10 * 60_000

/** The tree of the last commit, or the empty tree before the first. */
export async function headTree(repository: GitRepository): Promise<string> {
  const tree = await git(repository, ['rev-parse', '--quiet', '--verify', 'HEAD^{tree}'], {
    okCodes: [0, 1, 128],
  })
  return tree.toString('utf8').trim() || EMPTY_TREE
}

/** Environment that finds objects of both Chirality and the user. */
export async function snapshotEnvironment(
  repository: GitRepository,
  stateFolder: string,
): Promise<Record<string, string>> {
  return (await openSnapshots(repository, stateFolder)).env
}

export interface OpenSnapshots {
  stateFolder: string
  /** Environment with which git finds the objects of the snapshots. */
  env: Record<string, string>
  /** The tree of the last commit, or the empty tree before the first. */
  head: string
}

export async function openSnapshots(repository: GitRepository, stateFolder: string): Promise<OpenSnapshots> {
  const objects = path.join(stateFolder, 'objects')
  await ensurePrivateDirectory(objects)
  // Before the first commit git echoes the query as second line.
  const found = await git(repository, ['rev-parse', '--git-path', 'objects', '--quiet', 'HEAD^{tree}'], {
    okCodes: [0, 128],
  })
  const [, theirs = '', head = ''] = /^(.*)\n(.+)\n$/s.exec(found.toString('utf8')) ?? []
  return {
    stateFolder,
    env: {
      GIT_OBJECT_DIRECTORY: objects,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: path.resolve(repository.top, theirs),
    },
    head: /^[0-9a-f]{40,64}$/.test(head) ? head : EMPTY_TREE,
  }
}

export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const MAX_LIST_BYTES = 64 * 1024 * 1024
const SNAPSHOT_TIMEOUT_MS = 30_000
