import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { copyCarefully } from '@chirality/disk'
import { newTempFolder } from '@chirality/runner'
import { type GitOptions, type GitRepository, git, OWN_IDENTITY, outputText } from '../git/git.ts'
import { stageFiles } from '../git/nested-repositories.ts'
import { workspaceError } from '../workspace-error.ts'
import { resolveCommit } from './check-base.ts'
import type { KeptWork, Worktree } from './worktree-records.ts'

/**
 * Keeps everything that removing a worktree would lose: its commit, and a second commit in the form of a stash with its
 * staged, changed and new files. Both become refs of the repository in one transaction.
 */
export async function keepWork(worktree: Worktree, repository: GitRepository): Promise<KeptWork> {
  const head = await resolveCommit(repository, 'HEAD')
  if (head === undefined) throw notKept(worktree, 'its HEAD names no commit')
  const { work, files } = await commitOfFiles(worktree, repository, head)
  await setKept(repository, worktree, { head, work })
  return {
    head,
    commits: await countOwnCommits(repository, worktree.branch, head),
    work,
    files,
    at: new Date().toISOString(),
  }
}

/** True if `keepWork()` would have something to keep. Writes nothing into the repository. */
export async function hasOwnWork(worktree: Worktree, repository: GitRepository): Promise<boolean> {
  const head = await resolveCommit(repository, 'HEAD')
  if (head === undefined || (await countOwnCommits(repository, worktree.branch, head)) > 0) return true
  // Skips submodules, whose config could name programs; `keepWork()` refuses a worktree with submodules anyway.
  const wanted = ['--untracked-files=normal', '--ignore-submodules=dirty', '--no-renames']
  const changed = await git(repository, ['status', '--porcelain', '-z', ...wanted], {
    maxBytes: MAX_LIST_BYTES,
    timeoutMs: CHECKOUT_TIMEOUT_MS,
  })
  return changed.length > 0
}

/** Names of a work tree for messages. */
export type WorkPlaceNames = Pick<Worktree, 'folder' | 'branch'>

/** Keeps the branch of a worktree whose folder is gone. */
export async function keepBranch(
  worktree: Worktree,
  repository: GitRepository,
): Promise<KeptWork | undefined> {
  const head = await resolveCommit(repository, `refs/heads/${worktree.branch}`)
  if (head === undefined) return undefined
  await setKept(repository, worktree, { head })
  const commits = await countOwnCommits(repository, worktree.branch, head)
  return { head, commits, files: 0, at: new Date().toISOString() }
}

/** Restores the uncommitted files in a fresh worktree, and the staged changes in its index. */
export async function restoreFiles(repository: GitRepository, { work }: KeptWork): Promise<void> {
  if (work === undefined) return
  await git(repository, ['read-tree', '--reset', '-u', `${work}^{tree}`], { timeoutMs: CHECKOUT_TIMEOUT_MS })
  await git(repository, ['read-tree', `${work}^2^{tree}`])
}

export async function forgetKept(repository: GitRepository, id: string): Promise<void> {
  const input = `delete ${headRef(id)}\ndelete ${workRef(id)}\n`
  await git(repository, ['update-ref', '--stdin'], { input })
}

export const CHECKOUT_TIMEOUT_MS = 10 * 60_000

function headRef(id: string): string {
  return `refs/chirality/kept/${id}/head`
}

function workRef(id: string): string {
  return `refs/chirality/kept/${id}/work`
}

export async function setKept(
  repository: GitRepository,
  { id }: Pick<Worktree, 'id'>,
  { head, work }: { head: string; work?: string | undefined },
): Promise<void> {
  const lines = [
    `update ${headRef(id)} ${head}`,
    work === undefined ? `delete ${workRef(id)}` : `update ${workRef(id)} ${work}`,
  ]
  await git(repository, ['update-ref', '--stdin'], { input: `${lines.join('\n')}\n` })
}

/**
 * Commits the changed and new unignored files in the form of a stash. Empty if there are none. The caller removes
 * `scratch`, also after a kill; without it the system's temporary folder is used.
 */
export async function commitOfFiles(
  worktree: WorkPlaceNames,
  repository: GitRepository,
  head: string,
  scratch?: string,
): Promise<{ work?: string; files: number }> {
  const { staged, all } = await treesOf(worktree, repository, scratch)
  const headTree = await resolveTree(repository, head)
  if (all === headTree && (staged === undefined || staged === headTree)) return { files: 0 }
  const commit = async (tree: string, parents: string[], message: string) => {
    const args = ['commit-tree', tree, ...parents.flatMap(parent => ['-p', parent]), '-m', message]
    return outputText(await git(repository, args, { env: OWN_IDENTITY }))
  }
  const index = await commit(staged ?? headTree, [head], `Staged in ${worktree.branch}`)
  const work = await commit(all, [head, index], `Uncommitted in ${worktree.branch}`)
  const changed = await git(repository, ['diff-tree', '-r', '--name-only', '-z', head, work], {
    maxBytes: MAX_LIST_BYTES,
  })
  return { work, files: changed.toString('latin1').split('\0').length - 1 }
}

/**
 * Trees of the staged changes and of all files. Works on a copy of the index: unchanged files are not read again, the
 * worktree's own index stays unchanged, and the lock of another git does not matter. Nothing counts as staged during a
 * merge with conflicts, because the index has no tree then; the files contain the conflicts.
 */
async function treesOf(
  worktree: WorkPlaceNames,
  repository: GitRepository,
  scratch?: string,
): Promise<{ staged: string | undefined; all: string }> {
  // The name of the folder tells its process; a later start removes the folder of a killed one.
  const folder = await (scratch === undefined ? newTempFolder() : mkdtemp(path.join(scratch, 'index-')))
  try {
    const copy = path.join(folder, 'index')
    const index = outputText(await git(repository, ['rev-parse', '--git-path', 'index']))
    await copyCarefully(path.resolve(repository.top, index), copy)
    const options: GitOptions = { env: { GIT_INDEX_FILE: copy }, timeoutMs: CHECKOUT_TIMEOUT_MS }
    const staged = outputText(await git(repository, ['write-tree'], { ...options, okCodes: [0, 128] }))
    await stageFiles(repository, '--all', options)
    const all = outputText(await git(repository, ['write-tree'], options))
    await refuseNested(worktree, repository, all)
    return { staged: staged || undefined, all }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Refuses a nested repository: only the id of its commit would be kept, and its files would be lost. */
async function refuseNested(
  worktree: WorkPlaceNames,
  repository: GitRepository,
  tree: string,
): Promise<void> {
  const listed = await git(repository, ['ls-tree', '-r', '-d', '-z', '--full-tree', tree], {
    maxBytes: MAX_LIST_BYTES,
  })
  const nested = listed
    .toString('utf8')
    .split('\0')
    .flatMap(entry => /^160000 commit [0-9a-f]+\t(.+)$/s.exec(entry)?.[1] ?? [])
  if (nested.length > 0) throw notKept(worktree, `it contains another repository: ${nested.join(', ')}`)
}

function notKept({ folder }: WorkPlaceNames, why: string) {
  return workspaceError(
    'worktree-refused',
    `${folder} stays as it is, because ${why}. Move what you need out of it, then try again.`,
  )
}

export async function countOwnCommits(
  repository: GitRepository,
  branch: string,
  head: string,
): Promise<number> {
  const others = [`--exclude=${branch}`, '--branches', '--tags', '--remotes']
  return Number(outputText(await git(repository, ['rev-list', '--count', head, '--not', ...others])))
}

async function resolveTree(repository: GitRepository, commit: string): Promise<string> {
  return outputText(await git(repository, ['rev-parse', '--verify', `${commit}^{tree}`]))
}

const MAX_LIST_BYTES = 256 * 1024 * 1024
