import { findRepository } from '../git/find-repository.ts'
import { type GitRepository, git } from '../git/git.ts'
import { gitStatus } from '../git/git-status.ts'
import { workspaceError } from '../workspace-error.ts'

/** The starting point of a worktree. */
export interface Base {
  repository: GitRepository
  commit: string
  /** The given or current branch; null for a commit or a detached HEAD. */
  branch: string | null
  /** Number of changed files in the project folder that the worktree will lack. */
  uncommitted: number
  /** True if files are stored with Git LFS and the user's config has no LFS: the worktree gets their pointers. */
  hasLfsPointers: boolean
}

export async function checkBase(projectRoot: string, base = 'HEAD'): Promise<Base> {
  const found = await findBase(projectRoot, base)
  return {
    ...found,
    uncommitted: (await gitStatus(projectRoot))?.files.length ?? 0,
    hasLfsPointers: await hasLfsPointers(found.repository, found.commit),
  }
}

/**
 * Refuses a base that a worktree cannot hold, before anything is made; the message gives an alternative. Reads no files
 * of the project, because that takes long in a large one.
 */
export async function findBase(
  projectRoot: string,
  base = 'HEAD',
): Promise<Pick<Base, 'repository' | 'commit' | 'branch'>> {
  const repository = await findRepository(projectRoot)
  if (repository === undefined) throw refused(`${projectRoot} is not in a git repository of yours.`)
  const commit = await resolveCommit(repository, base)
  if (commit === undefined && base === 'HEAD')
    throw refused('The repository has no commit yet. Commit something first.')
  if (commit === undefined)
    throw refused(`The repository has no commit, branch or tag ${JSON.stringify(base)}.`)
  if (await contains(repository, commit, '.gitmodules'))
    throw refused('The repository has submodules, and in a worktree their folders would be empty.')
  if (repository.prefix !== '' && !(await contains(repository, commit, repository.prefix)))
    throw refused(`The folder ${repository.prefix} is not in the commit that the worktree would begin at.`)
  return { repository, commit, branch: await branchOf(repository, base) }
}

/** Branches at which a worktree can start, most recent work first. */
export async function listBranches(projectRoot: string): Promise<string[]> {
  const repository = await findRepository(projectRoot)
  if (repository === undefined) return []
  const options = ['--sort=-committerdate', `--count=${MAX_BRANCHES}`, '--format=%(refname:lstrip=2)']
  const listed = await git(repository, ['for-each-ref', ...options, 'refs/heads'])
  return listed.toString('utf8').split('\n').filter(Boolean)
}

const MAX_BRANCHES = 200

function refused(why: string) {
  return workspaceError(
    'worktree-refused',
    `No worktree was made. ${why} You can work in the project folder.`,
  )
}

export async function resolveCommit(
  repository: Pick<GitRepository, 'top' | 'overrides'>,
  name: string,
): Promise<string | undefined> {
  // A leading dash would make the name an option.
  if (name.startsWith('-') || name.includes('\0')) return undefined
  const found = await git(repository, ['rev-parse', '--verify', '--quiet', `${name}^{commit}`], {
    okCodes: [0, 1, 128],
  })
  return found.toString('utf8').trim() || undefined
}

export async function contains(repository: GitRepository, commit: string, file: string): Promise<boolean> {
  const listed = await git(repository, ['ls-tree', '--name-only', '-z', '--full-tree', commit, '--', file])
  return listed.length > 0
}

async function branchOf(repository: GitRepository, base: string): Promise<string | null> {
  const name = await git(repository, ['rev-parse', '--symbolic-full-name', '--verify', '--quiet', base], {
    okCodes: [0, 1, 128],
  })
  return /^refs\/heads\/(.+)$/.exec(name.toString('utf8').trim())?.[1] ?? null
}

async function hasLfsPointers(repository: GitRepository, commit: string): Promise<boolean> {
  const attributes = await git(repository, ['cat-file', 'blob', `${commit}:.gitattributes`], {
    okCodes: [0, 128],
  })
  if (!/\bfilter=lfs\b/.test(attributes.toString('utf8'))) return false
  const smudge = await git(repository, ['config', '--get', 'filter.lfs.process'], { okCodes: [0, 1] })
  return smudge.toString('utf8').trim() === ''
}

/** An unused branch name for this work. */
export async function freeBranch(repository: GitRepository, slug: string, id: string): Promise<string> {
  const wanted = `chirality/${slug}`
  const isTaken = (await resolveCommit(repository, `refs/heads/${wanted}`)) !== undefined
  return isTaken ? `chirality/${id}` : wanted
}

/** Words as part of a name, in lower-case letters, digits and dashes. */
export function slugOf(title: string, otherwise = 'work'): string {
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '')
  return words === '' ? otherwise : words
}
