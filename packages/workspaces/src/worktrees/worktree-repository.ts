import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { errnoOf } from '@chirality/disk'
import { MARKER_VARIABLE } from '@chirality/runner'
import { findRepository } from '../git/find-repository.ts'
import { type GitRepository, git } from '../git/git.ts'
import { workspaceError } from '../workspace-error.ts'
import type { Worktree } from './worktree-records.ts'

/** The repository that a worktree was made from. */
export async function repositoryOf(worktree: Worktree): Promise<GitRepository> {
  const repository = (await exists(worktree.repository))
    ? await findRepository(worktree.repository)
    : undefined
  if (repository === undefined || repository.top !== worktree.repository) {
    const where = (await exists(worktree.folder)) ? ` Its files are in ${worktree.folder}, untouched.` : ''
    throw workspaceError(
      'worktree-refused',
      `The repository ${worktree.repository} of the worktree ${worktree.id} is not there any more.${where}`,
    )
  }
  return marked(repository, worktree.id)
}

/**
 * Opens the worktree as a repository. Refuses one whose `.git` names another repository now: its work would be kept
 * there.
 */
export async function openWorktree(worktree: Worktree, repository: GitRepository): Promise<GitRepository> {
  const opened = await findRepository(worktree.folder)
  const common = async (of: GitRepository) =>
    path.resolve(of.top, (await git(of, ['rev-parse', '--git-common-dir'])).toString('utf8').trim())
  if (opened?.top !== worktree.folder || (await common(opened)) !== (await common(repository))) {
    throw workspaceError(
      'worktree-refused',
      `The worktree ${worktree.folder} does not belong to ${worktree.repository} any more: its .git was changed. Move what you need out of it, and remove the folder.`,
    )
  }
  return marked(opened, worktree.id)
}

/** Marks the git processes of a worktree, so that the next server finds one that outlived this one. */
export function marked(repository: GitRepository, id: string): GitRepository {
  return { ...repository, env: { [MARKER_VARIABLE]: worktreeMarker(id) } }
}

export const worktreeMarker = (id: string): string => `worktree-${id}`

export async function exists(file: string): Promise<boolean> {
  try {
    await lstat(file)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return false
    throw error
  }
}
