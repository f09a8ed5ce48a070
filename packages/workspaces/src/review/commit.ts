import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasCode } from '@chirality/core'
import { copyCarefully } from '@chirality/disk'
import type { ChangedFile } from '../git/changes.ts'
import { type GitRepository, type GitSetting, git } from '../git/git.ts'
import { gitStatus } from '../git/git-status.ts'
import { workspaceError } from '../workspace-error.ts'

export interface CommitRequest {
  message: string
  /** From the root of the project. Default: everything that changed. */
  files?: string[] | undefined
  /** Runs the hooks of the repository, which the user allowed. */
  hooks?: boolean | undefined
}

export interface Commit {
  commit: string
  files: string[]
}

/**
 * Commits files of a work folder by the user's own identity. What is staged of other files stays staged. Nothing is
 * signed: the program for that would be named by the repository.
 */
export async function commitFiles(
  repository: GitRepository,
  root: string,
  { message, files, hooks = false }: CommitRequest,
): Promise<Commit> {
  if (message.trim() === '') throw refused('The commit has no message.')
  const status = await gitStatus(root)
  const wanted = files && new Set(files)
  const changed = (status?.files ?? []).filter(({ path }) => wanted?.has(path) ?? true)
  if (changed.length === 0) throw refused('There is nothing to commit.')
  const own = await asUser(repository, hooks)
  const paths = stagedPaths(repository, changed)
  // Killed after this, the files are staged and nothing is lost.
  await stage(own, paths)
  const isMerge = (await resolve(own, 'MERGE_HEAD')) !== undefined
  const isAll = changed.length === status?.files.length && repository.prefix === ''
  const make = (env: Record<string, string> = {}) =>
    git(own, ['commit', '--quiet', '--cleanup=whitespace', '--no-gpg-sign', '-m', message], {
      ...{ env, timeoutMs: TIMEOUT_MS },
    }).catch((error: unknown) => {
      if (!hasCode(error, 'git-failed')) throw error
      const why = (error as Error).message.replace('git commit: ', '')
      throw refused(hooks ? `git or a hook refused the commit: ${why}.` : `git refused the commit: ${why}.`)
    })
  if (isMerge || isAll) await make()
  else
    await withHeadIndex(own, async env => {
      await stage(own, paths, env)
      await make(env)
    })
  return { commit: (await resolve(own, 'HEAD')) ?? '', files: changed.map(({ path }) => path).sort() }
}

/** Names from the top of the repository, each exactly as it is: a folder's name is not all that is below it. */
interface StagedPaths {
  gone: string[]
  there: string[]
  /** Repositories in it that git does not know, and folders with too many files to list. */
  folders: string[]
}

function stagedPaths(repository: GitRepository, changed: readonly ChangedFile[]): StagedPaths {
  const gone = new Set<string>()
  const there = new Set<string>()
  for (const { path, renamedFrom, index, worktree } of changed) {
    // What is staged as renamed or deleted is neither in the index nor on the disk any more. A copy leaves its source.
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
  // A file that is half of a conflict may be gone: it is removed then.
  await run(there, 'update-index', '--add', '--remove', '--replace', '-z', '--stdin')
  await run(folders, 'add', '--all', '--pathspec-from-file=-', '--pathspec-file-nul')
}

/** A temporary index with the last commit, which knows of the user's index when unchanged files were changed last. */
async function withHeadIndex(
  repository: GitRepository,
  work: (env: Record<string, string>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'chirality-commit-'))
  const env = { GIT_INDEX_FILE: join(folder, 'index') }
  try {
    const users = text(await git(repository, ['rev-parse', '--path-format=absolute', '--git-path', 'index']))
    await copyCarefully(users, env.GIT_INDEX_FILE)
    const head = await resolve(repository, 'HEAD')
    await git(repository, ['read-tree', ...(head === undefined ? ['--empty'] : ['--reset', head])], {
      ...{ env, timeoutMs: TIMEOUT_MS },
    })
    await work(env)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The repository with the user's name and address, for commits that are the user's. */
export async function asUser(repository: GitRepository, hooks = false): Promise<GitRepository> {
  const value = async (name: string) =>
    text(await git(repository, ['config', '--get', name], { okCodes: [0, 1] }))
  if ((await value('user.name')) === '' || (await value('user.email')) === '')
    throw refused(
      'git does not know who you are. Tell it: git config --global user.name "Your Name", and user.email.',
    )
  const settings: GitSetting[] = [['user.useConfigOnly', 'true']]
  if (hooks) {
    settings.push(['core.hooksPath', await hooksFolder(repository)])
  }
  return { ...repository, overrides: [...repository.overrides, ...settings] }
}

/** The names of the hooks that a commit would run, so that a person can decide about them. */
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

/** Where git itself would look for them: as the repository says, or else the user or the machine, for all repositories. */
export async function hooksFolder(repository: GitRepository): Promise<string> {
  const common = text(await git(repository, ['rev-parse', '--path-format=absolute', '--git-common-dir']))
  const args = ['config', '-z', '--show-scope', '--type=path', '--get-all', 'core.hooksPath']
  const fields = (await git(repository, args, { okCodes: [0, 1] })).toString('utf8').split('\0')
  // In pairs, the last one counts. Our own, which turns hooks off, is of the command.
  const named = fields.filter((_, at) => at % 2 === 1 && fields[at - 1] !== 'command').at(-1) ?? ''
  if (named === '') return `${common}/hooks`
  return named.startsWith('/') ? named : `${repository.top}/${named}`
}

export async function resolve(repository: GitRepository, name: string): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`]
  return text(await git(repository, args, { okCodes: [0, 1, 128] })) || undefined
}

function inRepository({ prefix }: GitRepository, file: string): string {
  return prefix === '' ? file : `${prefix}/${file}`
}

export function refused(why: string) {
  return workspaceError('review-refused', why)
}

export function text(output: Buffer): string {
  return output.toString('utf8').trim()
}

/** A hook may run the tests. */
const TIMEOUT_MS = 10 * 60_000
