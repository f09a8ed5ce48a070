import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { ensurePrivateDirectory } from '@chirality/runner'
import { type GitOptions, type GitRepository, git } from './git.ts'

/** The tree object that stands for all files of the project as they are now. */
export interface Snapshot {
  tree: string
}

/**
 * Records the files of a project as a git tree, with an index and an object folder of our own: the user's index, refs and objects
 * are only read. Ignored files are left out.
 */
export async function takeSnapshot(repository: GitRepository, stateFolder: string): Promise<Snapshot> {
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

/** To see whether one has changed, `git add` would run `git status` in it, with whatever its own config names. */
async function passOverSubmodules(
  repository: GitRepository,
  tree: string,
  options: GitOptions,
): Promise<void> {
  const folders = await git(repository, ['ls-tree', '-r', '-d', '-z', '--full-tree', tree], options)
  // Byte for byte: a name need not be UTF-8.
  const submodules = folders
    .toString('latin1')
    .split('\0')
    .flatMap(entry => /^160000 commit [0-9a-f]+\t(.+)$/s.exec(entry)?.[1] ?? [])
  if (submodules.length === 0) return
  const input = Buffer.from(submodules.map(name => `${name}\0`).join(''), 'latin1')
  await git(repository, ['update-index', '-z', '--skip-worktree', '--stdin'], { ...options, input })
}

/** Begins anew when there are too many snapshots: old turns are then told by their tools. */
export async function trimSnapshots(stateFolder: string): Promise<void> {
  const objects = path.join(stateFolder, 'objects')
  // Names are hashes, so one of the 256 folders tells of all.
  const sample = await readdir(path.join(objects, '17')).catch(() => [])
  if (sample.length * 256 > MAX_OBJECTS) await rm(stateFolder, { recursive: true, force: true })
  await mkdir(stateFolder, { recursive: true, mode: 0o700 })
}

/** The tree of the last commit; the empty one before the first. */
export async function headTree(repository: GitRepository): Promise<string> {
  const tree = await git(repository, ['rev-parse', '--quiet', '--verify', 'HEAD^{tree}'], {
    okCodes: [0, 1, 128],
  })
  return tree.toString('utf8').trim() || EMPTY_TREE
}

/** Both trees may be ours or the user's: our objects, and behind them theirs. */
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
const MAX_OBJECTS = 100_000
const SNAPSHOT_TIMEOUT_MS = 30_000
