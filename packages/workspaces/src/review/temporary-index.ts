import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type GitOptions, type GitRepository, git } from '../git/git.ts'
import { EMPTY_TREE } from '../git/snapshot.ts'
import type { TreeFile } from './disk-files.ts'

/**
 * Runs `work` with a temporary index of the last commit's tree, so that trees made from it differ only in the changed
 * files.
 */
export async function withIndex<T>(
  repository: GitRepository,
  env: Record<string, string>,
  { head, work }: { head: string; work: (options: GitOptions) => Promise<T> },
): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-index-'))
  const options: GitOptions = {
    env: { ...env, GIT_INDEX_FILE: path.join(folder, 'index') },
    timeoutMs: TIMEOUT_MS,
  }
  try {
    await git(repository, head === EMPTY_TREE ? ['read-tree', '--empty'] : ['read-tree', head], options)
    return await work(options)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Replaces the entries of these files in an index. */
export async function enter(
  repository: GitRepository,
  files: ReadonlyMap<string, TreeFile | null>,
  options: GitOptions,
): Promise<void> {
  const line = (name: string, file: TreeFile | null) =>
    file === null ? `0 ${'0'.repeat(40)}\t${name}\0` : `${file.mode} ${file.id}\t${name}\0`
  // Removals first: a file may take the place of a folder.
  const ordered = [...files].sort(([, a], [, b]) => Number(a !== null) - Number(b !== null))
  if (ordered.length === 0) return
  const input = Buffer.from(ordered.map(([name, file]) => line(name, file)).join(''), 'latin1')
  await git(repository, ['update-index', '--replace', '-z', '--index-info'], { ...options, input })
}

const TIMEOUT_MS = 5 * 60_000
