import { access, constants } from 'node:fs/promises'
import { hasCode } from '@chirality/core'
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
  const names = changed.flatMap(({ path, renamedFrom }) => [path, ...(renamedFrom ? [renamedFrom] : [])])
  const input = names.map(name => `${inRepository(repository, name)}\0`).join('')
  const listed = ['--pathspec-from-file=-', '--pathspec-file-nul']
  // Killed between the two, the files are staged and nothing is lost.
  await git(own, ['add', '--all', ...listed], { input, timeoutMs: TIMEOUT_MS })
  const isMerge = (await resolve(own, 'MERGE_HEAD')) !== undefined
  const only = isMerge ? [] : ['--only', ...listed]
  await git(own, ['commit', '--quiet', '--cleanup=whitespace', '--no-gpg-sign', '-m', message, ...only], {
    ...(isMerge ? {} : { input }),
    timeoutMs: TIMEOUT_MS,
  }).catch((error: unknown) => {
    if (!hasCode(error, 'git-failed')) throw error
    const why = (error as Error).message.replace('git commit: ', '')
    throw refused(hooks ? `git or a hook refused the commit: ${why}.` : `git refused the commit: ${why}.`)
  })
  return { commit: (await resolve(own, 'HEAD')) ?? '', files: changed.map(({ path }) => path).sort() }
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

export async function hooksFolder(repository: GitRepository): Promise<string> {
  const common = text(await git(repository, ['rev-parse', '--path-format=absolute', '--git-common-dir']))
  const local = text(
    await git(repository, ['config', '--local', '--get', 'core.hooksPath'], { okCodes: [0, 1] }),
  )
  if (local === '') return `${common}/hooks`
  return local.startsWith('/') ? local : `${repository.top}/${local}`
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
