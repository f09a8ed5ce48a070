import { lstat, mkdir, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { ensurePrivateDirectory } from '@chirality/runner'
import { type GitOptions, type GitRepository, git } from './git.ts'

/** The tree object of all files of the project in their current state. */
export interface Snapshot {
  tree: string
}

export interface SnapshotLimits {
  /** The disk space limit of all snapshots of a project, before the one that is being made. */
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
 * Records the files of a project as a git tree, with an index and an object folder of its own: the user's index, refs
 * and objects are only read. Ignored files are left out. A large file that git does not have is replaced by a line that
 * says so.
 */
export async function takeSnapshot(
  repository: GitRepository,
  stateFolder: string,
  { maxFileBytes = SNAPSHOT_LIMITS.maxFileBytes }: Partial<SnapshotLimits> = {},
): Promise<Snapshot> {
  const env = await snapshotEnvironment(repository, stateFolder)
  const folder = await mkdtemp(path.join(stateFolder, 'index-'))
  const withIndex = {
    env: { ...env, GIT_INDEX_FILE: path.join(folder, 'index') },
    timeoutMs: SNAPSHOT_TIMEOUT_MS,
  }
  try {
    const head = await headTree(repository)
    if (head !== EMPTY_TREE) {
      await git(repository, ['read-tree', head], withIndex)
      await passOverSubmodules(repository, head, withIndex)
    }
    await passOverLargeFiles(repository, maxFileBytes, withIndex)
    await git(repository, ['add', '--all', '--ignore-errors', '--', repository.prefix || '.'], {
      ...withIndex,
      okCodes: [0, 1],
    })
    const tree = await git(repository, ['write-tree'], withIndex)
    return { tree: tree.toString('utf8').trim() }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * To check a submodule for changes, `git add` would run `git status` in it, with the programs that its config names.
 */
async function passOverSubmodules(
  repository: GitRepository,
  tree: string,
  options: GitOptions,
): Promise<void> {
  const folders = await git(repository, ['ls-tree', '-r', '-d', '-z', '--full-tree', tree], options)
  // Byte for byte, because a name need not be UTF-8.
  const submodules = folders
    .toString('latin1')
    .split('\0')
    .flatMap(entry => /^160000 commit [0-9a-f]+\t(.+)$/s.exec(entry)?.[1] ?? [])
  if (submodules.length === 0) return
  const input = Buffer.from(submodules.map(name => `${name}\0`).join(''), 'latin1')
  await git(repository, ['update-index', '-z', '--skip-worktree', '--stdin'], { ...options, input })
}

/** Each version of such a file would be stored whole. Its size and time still show that it changed. */
async function passOverLargeFiles(
  repository: GitRepository,
  maxFileBytes: number,
  options: GitOptions,
): Promise<void> {
  const where = ['--', repository.prefix || '.']
  const listed = await git(repository, ['ls-files', '--others', '--exclude-standard', '-z', ...where], {
    ...options,
    maxBytes: MAX_LIST_BYTES,
  })
  const names = listed.toString('latin1').split('\0').filter(Boolean)
  const large: { name: string; note: string }[] = []
  for (const name of names) {
    const file = Buffer.from(`${Buffer.from(repository.top).toString('latin1')}/${name}`, 'latin1')
    const facts = await lstat(file).catch(() => undefined)
    if (!facts?.isFile() || facts.size <= maxFileBytes) continue
    const note = `Not kept: ${facts.size} bytes, more than ${maxFileBytes}. Last changed ${facts.mtime.toISOString()}.\n`
    large.push({ name, note })
  }
  if (large.length === 0) return
  const entries: string[] = []
  for (const { name, note } of large) {
    const id = await git(repository, ['hash-object', '-w', '--stdin'], { ...options, input: note })
    entries.push(`100644 ${id.toString('latin1').trim()}\t${name}\0`)
  }
  const asInput = (text: string) => ({ ...options, input: Buffer.from(text, 'latin1') })
  await git(repository, ['update-index', '-z', '--index-info'], asInput(entries.join('')))
  const passed = large.map(({ name }) => `${name}\0`).join('')
  await git(repository, ['update-index', '-z', '--skip-worktree', '--stdin'], asInput(passed))
}

/**
 * Deletes all snapshots when they use too much space: the changes of old turns then come from their tools. No other
 * reader may be active.
 */
export async function trimSnapshots(
  repository: GitRepository,
  stateFolder: string,
  { maxBytes, maxObjects }: SnapshotLimits = SNAPSHOT_LIMITS,
): Promise<void> {
  const env = await snapshotEnvironment(repository, stateFolder)
  const counted = await git(repository, ['count-objects', '-v'], { env })
  const numberOf = (name: string) =>
    Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(counted.toString('utf8'))?.[1] ?? 0)
  const kilobytes = numberOf('size') + numberOf('size-pack') + numberOf('size-garbage')
  if (kilobytes * 1024 <= maxBytes && numberOf('count') <= maxObjects) return
  await rm(stateFolder, { recursive: true, force: true })
  await mkdir(stateFolder, { recursive: true, mode: 0o700 })
}

/** The tree of the last commit; the empty tree before the first. */
export async function headTree(repository: GitRepository): Promise<string> {
  const tree = await git(repository, ['rev-parse', '--quiet', '--verify', 'HEAD^{tree}'], {
    okCodes: [0, 1, 128],
  })
  return tree.toString('utf8').trim() || EMPTY_TREE
}

/** Both trees may be in Chirality's objects or the user's, so both folders are searched. */
export async function snapshotEnvironment(
  repository: GitRepository,
  stateFolder: string,
): Promise<Record<string, string>> {
  const objects = path.join(stateFolder, 'objects')
  await ensurePrivateDirectory(objects)
  const theirs = await git(repository, ['rev-parse', '--git-path', 'objects'])
  return {
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: path.resolve(repository.top, theirs.toString('utf8').trim()),
  }
}

export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const MAX_LIST_BYTES = 64 * 1024 * 1024
const SNAPSHOT_TIMEOUT_MS = 30_000
