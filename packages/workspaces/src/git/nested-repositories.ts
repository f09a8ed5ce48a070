import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { type GitOptions, type GitRepository, git } from './git.ts'

/** Stages all changes, or with `--update` only those of known files. Nested repositories stay staged as they are. */
export async function stageFiles(
  repository: GitRepository,
  which: '--all' | '--update',
  options: GitOptions = {},
): Promise<void> {
  await overNested(repository, options, () => git(repository, ['add', which, '--', '.'], options))
}

/**
 * Runs commands that compare the work tree with the index and have no option against it: `add`, and `merge` and
 * `revert`, which make a stash first. Without this git would start a `git status` in each nested repository of the
 * index, with the filters that its config names. During `work` the index marks them as not checked out.
 */
export async function overNested<T>(
  repository: GitRepository,
  options: GitOptions,
  work: () => Promise<T>,
): Promise<T> {
  const nested = await nestedOf(repository, options)
  if (nested.length === 0) return work()
  await mark(repository, '--skip-worktree', nested, options)
  try {
    return await work()
  } finally {
    const left = new Set(await nestedOf(repository, options))
    const marked = nested.filter(name => left.has(name))
    await mark(repository, '--no-skip-worktree', marked, options)
  }
}

/** Nested repositories of the index, as `latin1` strings of their bytes. Git does not look into those in a conflict. */
async function nestedOf(repository: GitRepository, { env }: GitOptions): Promise<string[]> {
  const listed = await git(repository, ['ls-files', '--stage', '-z'], {
    env,
    maxBytes: MAX_LIST_BYTES,
  })
  const names = listed
    .toString('latin1')
    .split('\0')
    .flatMap(entry => /^160000 [0-9a-f]+ 0\t(.+)$/s.exec(entry)?.[1] ?? [])
  const top = Buffer.from(path.join(repository.top, '/'))
  const nested: string[] = []
  for (const name of names) {
    // A removed repository, or a file in its place, needs no mark.
    const found = await lstat(Buffer.concat([top, Buffer.from(`${name}/.git`, 'latin1')])).catch(() => null)
    if (found !== null) nested.push(name)
  }
  return nested
}

async function mark(
  repository: GitRepository,
  flag: string,
  names: readonly string[],
  { env }: GitOptions,
): Promise<void> {
  if (names.length === 0) return
  const input = Buffer.from(names.map(name => `${name}\0`).join(''), 'latin1')
  await git(repository, ['update-index', '-z', flag, '--stdin'], {
    env,
    input,
  })
}

const MAX_LIST_BYTES = 256 * 1024 * 1024
