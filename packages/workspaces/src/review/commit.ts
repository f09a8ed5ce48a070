import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasCode } from '@chirality/core'
import { copyCarefully } from '@chirality/disk'
import type { ChangedFile } from '../git/changes.ts'
import { type GitRepository, type GitSetting, git, outputText } from '../git/git.ts'
import { gitStatus } from '../git/git-status.ts'
import { workspaceError } from '../workspace-error.ts'

export interface CommitRequest {
  message: string
  /** Relative to the root of the project. Default: all changed files. */
  files?: string[] | undefined
  /** Runs the repository's hooks, which requires the user's consent. */
  hooks?: boolean | undefined
}

export interface Commit {
  commit: string
  files: string[]
}

/**
 * Commits files of a work folder under the user's identity. Staged changes of other files stay staged. The commit is
 * not signed, because the repository would name the program for that.
 */
export async function commitFiles(
  repository: GitRepository,
  root: string,
  { message, files, hooks = false }: CommitRequest,
): Promise<Commit> {
  if (message.trim() === '') throw reviewRefused('The commit has no message.')
  const status = await gitStatus(root)
  const wanted = files && new Set(files)
  const changed = (status?.files ?? []).filter(({ path }) => wanted?.has(path) ?? true)
  if (changed.length === 0) throw reviewRefused('There is nothing to commit.')
  const own = await asUser(repository, hooks)
  const paths = stagedPaths(repository, changed)
  // After a kill from here on the files are staged and nothing is lost.
  await stage(own, paths)
  const isMerge = (await resolve(own, 'MERGE_HEAD')) !== undefined
  const isAll = changed.length === status?.files.length && repository.prefix === ''
  const make = (env: Record<string, string> = {}) =>
    git(own, ['commit', '--quiet', '--cleanup=whitespace', '--no-gpg-sign', '-m', message], {
      env,
      timeoutMs: TIMEOUT_MS,
    }).catch((error: unknown) => {
      if (!hasCode(error, 'git-failed')) throw error
      const why = (error as Error).message.replace('git commit: ', '')
      throw reviewRefused(
        hooks ? `git or a hook refused the commit: ${why}.` : `git refused the commit: ${why}.`,
      )
    })
  if (isMerge || isAll) await make()
  else
    await withHeadIndex(own, async env => {
      await stage(own, paths, env)
      await make(env)
    })
  return { commit: (await resolve(own, 'HEAD')) ?? '', files: changed.map(({ path }) => path).sort() }
}

/** Exact names from the top of the repository: the name of a folder does not include the files below it. */
interface StagedPaths {
  gone: string[]
  there: string[]
  /** Nested repositories that git does not know, and folders with too many files to list. */
  folders: string[]
}

function stagedPaths(repository: GitRepository, changed: readonly ChangedFile[]): StagedPaths {
  const gone = new Set<string>()
  const there = new Set<string>()
  for (const { path, renamedFrom, index, worktree } of changed) {
    // A file that is staged as renamed or deleted is neither in the index nor on the disk any more. A copy leaves its
    // source.
    if (renamedFrom !== undefined && index !== 'C' && worktree !== 'C') gone.add(renamedFrom)
    const isGone = worktree === 'D' || (index === 'D' && worktree === '.')
    ;(isGone ? gone : there).add(path)
  }
  const named = (paths: string[]) => paths.map(path => inRepository(repository, path))
  return {
    gone: named([...gone].filter(path => !there.has(path))),
    there: named([...there].filter(path => !path.endsWith('/'))),
    folders: named([...there].filter(path => path.endsWith('/'))),
  }
}

async function stage(
  repository: GitRepository,
  { gone, there, folders }: StagedPaths,
  env: Record<string, string> = {},
): Promise<void> {
  const run = async (paths: string[], ...args: string[]) => {
    if (paths.length === 0) return
    const input = paths.map(path => `${path}\0`).join('')
    await git(repository, args, { env, input, timeoutMs: TIMEOUT_MS })
  }
  await run(gone, 'update-index', '--force-remove', '-z', '--stdin')
  // One side of a conflict may be gone; it is removed then.
  await run(there, 'update-index', '--add', '--remove', '--replace', '-z', '--stdin')
  await run(folders, 'add', '--all', '--pathspec-from-file=-', '--pathspec-file-nul')
}

/**
 * Runs `work` with a temporary index of the last commit. Its copy of the user's index supplies the modification times
 * of unchanged files.
 */
async function withHeadIndex(
  repository: GitRepository,
  work: (env: Record<string, string>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'chirality-commit-'))
  const env = { GIT_INDEX_FILE: join(folder, 'index') }
  try {
    const users = outputText(
      await git(repository, ['rev-parse', '--path-format=absolute', '--git-path', 'index']),
    )
    await copyCarefully(users, env.GIT_INDEX_FILE)
    const head = await resolve(repository, 'HEAD')
    await git(repository, ['read-tree', ...(head === undefined ? ['--empty'] : ['--reset', head])], {
      env,
      timeoutMs: TIMEOUT_MS,
    })
    await work(env)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The repository with the user's name and address set, for commits of the user. */
export async function asUser(repository: GitRepository, hooks = false): Promise<GitRepository> {
  const value = async (name: string) =>
    outputText(await git(repository, ['config', '--get', name], { okCodes: [0, 1] }))
  if ((await value('user.name')) === '' || (await value('user.email')) === '')
    throw reviewRefused(
      'git does not know who you are. Tell it: git config --global user.name "Your Name", and user.email.',
    )
  const settings: GitSetting[] = [['user.useConfigOnly', 'true']]
  if (hooks) {
    settings.push(['core.hooksPath', await hooksFolder(repository)])
  }
  return { ...repository, overrides: [...repository.overrides, ...settings] }
}

/** Names of the hooks that a commit would run, so that a person can decide about them. */
export function commitHooks(repository: GitRepository): Promise<string[]> {
  return hooksAmong(repository, COMMIT_HOOKS)
}

export async function hooksAmong(repository: GitRepository, names: readonly string[]): Promise<string[]> {
  const folder = await hooksFolder(repository)
  const found = await Promise.all(
    names.map(name =>
      access(`${folder}/${name}`, constants.X_OK).then(
        () => [name],
        () => [],
      ),
    ),
  )
  return found.flat()
}

const COMMIT_HOOKS = ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit']

/**
 * The folder in which git looks for hooks: set by the repository, or by the user or the machine for all repositories.
 */
export async function hooksFolder(repository: GitRepository): Promise<string> {
  const common = outputText(
    await git(repository, ['rev-parse', '--path-format=absolute', '--git-common-dir']),
  )
  const args = ['config', '-z', '--show-scope', '--type=path', '--get-all', 'core.hooksPath']
  const fields = (await git(repository, args, { okCodes: [0, 1] })).toString('utf8').split('\0')
  // Pairs of scope and value; the last one counts. Our own override, which turns hooks off, has the scope `command`.
  const named = fields.filter((_, at) => at % 2 === 1 && fields[at - 1] !== 'command').at(-1) ?? ''
  if (named === '') return `${common}/hooks`
  return named.startsWith('/') ? named : `${repository.top}/${named}`
}

export async function resolve(repository: GitRepository, name: string): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`]
  return outputText(await git(repository, args, { okCodes: [0, 1, 128] })) || undefined
}

function inRepository({ prefix }: GitRepository, file: string): string {
  return prefix === '' ? file : `${prefix}/${file}`
}

export function reviewRefused(why: string) {
  return workspaceError('review-refused', why)
}

/** A hook may run the tests. */
const TIMEOUT_MS = 10 * 60_000
