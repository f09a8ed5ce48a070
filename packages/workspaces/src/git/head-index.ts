import { createHash } from 'node:crypto'
import { lstat, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { copyCarefully, ensurePrivateDirectory, errnoOf } from '@chirality/disk'
import { type GitRepository, git } from './git.ts'
import { readStateFile, writeStateFile } from './state-file.ts'

export interface HeadIndexOptions {
  /** Chirality's own folder with the objects. */
  stateFolder: string
  /** The tree of the last commit. */
  head: string
  /** Path for the new index. */
  target: string
  env: Record<string, string>
  timeoutMs: number
}

/**
 * Writes an index of the last commit that has the modification times of unchanged files, so that git need not read them
 * all. One is stored per work tree, and made again when another commit is checked out.
 */
export async function writeHeadIndex(repository: GitRepository, options: HeadIndexOptions): Promise<void> {
  const { stateFolder, head, target } = options
  const indexes = path.join(stateFolder, 'indexes')
  const folder = path.join(indexes, createHash('sha256').update(repository.top).digest('hex'))
  // A clone can contain these folders; as links they would redirect the writes.
  await ensurePrivateDirectory(indexes)
  await ensurePrivateDirectory(folder)
  const kept = path.join(folder, `${head}.index`)
  if (await copyIndex(kept, target)) return
  await writeStateFile(path.join(folder, TOP_FILE), repository.top)
  const before = (await readdir(folder)).filter(name => name.endsWith('.index'))
  await makeIndex(repository, { ...options, seeds: before.map(name => path.join(folder, name)) })
  // Removed first, because something else than a file may be in the place of the new one.
  for (const name of before) await rm(path.join(folder, name), { recursive: true, force: true })
  await copyIndex(target, kept)
  await removeUnused(indexes)
}

async function makeIndex(
  repository: GitRepository,
  { head, target, env, timeoutMs, seeds }: HeadIndexOptions & { seeds: string[] },
): Promise<void> {
  const options = { env: { ...env, GIT_INDEX_FILE: target }, timeoutMs }
  const seed = await seedOf(repository, seeds, target)
  try {
    // Keeps the seed's facts about files that are equal in this commit.
    await git(repository, ['read-tree', '--reset', head], options)
  } catch (error) {
    if (seed === 'none') throw error
    await rm(target, { force: true })
    await git(repository, ['read-tree', head], options)
  }
  if (seed === 'users') await clearFlags(repository, options)
  await passOverSubmodules(repository, head, options)
  await git(repository, ['update-index', '-q', '--refresh'], { ...options, okCodes: [0, 1] })
}

/** Copies the best index to start from. The user's index knows the files of a work tree that is new here. */
async function seedOf(
  repository: GitRepository,
  seeds: string[],
  target: string,
): Promise<'own' | 'users' | 'none'> {
  for (const seed of seeds) if (await copyIndex(seed, target)) return 'own'
  const found = await git(repository, ['rev-parse', '--git-path', 'index'])
  const users = path.resolve(repository.top, found.toString('utf8').trim())
  return (await copyIndex(users, target)) ? 'users' : 'none'
}

/** Clears flags that hide files from git, because changes in them count here. A sparse checkout stays sparse. */
async function clearFlags(repository: GitRepository, options: IndexOptions): Promise<void> {
  const sparse = await git(repository, ['config', '--type=bool', '--get', 'core.sparseCheckout'], {
    okCodes: [0, 1],
  })
  const isSparse = sparse.toString('utf8').trim() === 'true'
  const listed = await git(repository, ['ls-files', '-v', '-z'], { ...options, maxBytes: MAX_LIST_BYTES })
  const entries = listed.toString('latin1').split('\0')
  const clear = async (flag: string, isSet: (tag: string) => boolean) => {
    const names = entries.filter(entry => isSet(entry[0] ?? '')).map(entry => `${entry.slice(2)}\0`)
    if (names.length === 0) return
    const input = Buffer.from(names.join(''), 'latin1')
    await git(repository, ['update-index', flag, '-z', '--stdin'], { ...options, input })
  }
  await clear('--no-assume-unchanged', tag => tag !== tag.toUpperCase())
  if (!isSparse) await clear('--no-skip-worktree', tag => tag.toUpperCase() === 'S')
}

/**
 * Skips submodules: to check one for changes, git would run `git status` in it, with the programs that its config
 * names.
 */
async function passOverSubmodules(
  repository: GitRepository,
  tree: string,
  options: IndexOptions,
): Promise<void> {
  const folders = await git(repository, ['ls-tree', '-r', '-d', '-z', '--full-tree', tree], options)
  // Names are bytes, because they need not be UTF-8.
  const submodules = folders
    .toString('latin1')
    .split('\0')
    .flatMap(entry => /^160000 commit [0-9a-f]+\t(.+)$/s.exec(entry)?.[1] ?? [])
  if (submodules.length === 0) return
  const input = Buffer.from(submodules.map(name => `${name}\0`).join(''), 'latin1')
  await git(repository, ['update-index', '-z', '--skip-worktree', '--stdin'], { ...options, input })
}

/**
 * Copies an index with its time rounded down: git compares the content of files that are not older than their index,
 * because they may have changed just after it was written. False if it is missing or not a regular file: a link could
 * name an endless file, and a FIFO would block a thread of the pool for ever.
 */
async function copyIndex(from: string, to: string): Promise<boolean> {
  try {
    const facts = await lstat(from)
    if (!facts.isFile()) return false
    return await copyCarefully(from, to, { modifiedAt: new Date(Math.floor(facts.mtimeMs - 1)) })
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

/** Removes the indexes of worktrees that are gone. */
async function removeUnused(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const place = path.join(folder, entry.name)
    const top = await readStateFile(path.join(place, TOP_FILE), MAX_TOP_BYTES).catch(() => undefined)
    const isThere = top !== undefined && (await stat(top).catch(() => undefined)) !== undefined
    if (top !== undefined && !isThere) await rm(place, { recursive: true, force: true })
  }
}

interface IndexOptions {
  env: Record<string, string>
  timeoutMs: number
}

const TOP_FILE = 'work-tree'
const MAX_TOP_BYTES = 8 * 1024
const MAX_LIST_BYTES = 256 * 1024 * 1024
