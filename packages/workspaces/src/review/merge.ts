import { hasCode } from '@chirality/core'
import { findRepository } from '../git/find-repository.ts'
import { type GitRepository, git } from '../git/git.ts'
import { unfinishedIn } from '../git/unfinished.ts'
import { asUser, refused, resolve, text } from './commit.ts'
import { listOf } from './file-moves.ts'

/** A branch that work is on, and the one that it came from. */
export interface Branches {
  branch: string
  base: string
}

export interface BranchState extends Branches {
  /** Commits that the base does not have, and that only the base has. */
  ahead: number
  behind: number
  /** Files that are changed and not committed. */
  uncommitted: number
  /** Files that would not merge. */
  conflicts: string[]
}

export type MergeHow = 'merge' | 'squash'

export interface MergeRequest extends Branches {
  how: MergeHow
  message: string
  /** Only up to this commit of the branch. What is not committed on the branch does not matter then. */
  commit?: string
  /** Files that may be changed where the base is checked out. The merge itself must not touch them. */
  mayDiffer?: string[]
}

export type MergeResult =
  | { kind: 'merged'; commit: string; how: 'fast-forward' | MergeHow }
  | { kind: 'conflicts'; files: string[] }
  | { kind: 'nothing' }

export async function branchState(repository: GitRepository, branches: Branches): Promise<BranchState> {
  const { ours, theirs } = await tipsOf(repository, branches)
  const counted = await git(repository, ['rev-list', '--left-right', '--count', `${ours}...${theirs}`])
  const [behind = 0, ahead = 0] = text(counted).split(/\s+/).map(Number)
  const merged = await mergeTrees(repository, ours, theirs)
  const uncommitted = await changedFiles(repository, 'all')
  return { ...branches, ahead, behind, uncommitted: uncommitted.length, conflicts: merged.conflicts }
}

/** The files where a branch left its base, as a tree. */
export async function treeAtBase(repository: GitRepository, branches: Branches): Promise<string> {
  return text(await git(repository, ['rev-parse', `${await commitAtBase(repository, branches)}^{tree}`]))
}

/** The commit where a branch left its base. */
export async function commitAtBase(repository: GitRepository, branches: Branches): Promise<string> {
  const { ours, theirs } = await tipsOf(repository, branches)
  const common = await git(repository, ['merge-base', ours, theirs], { okCodes: [0, 1] })
  if (text(common) === '') throw refused(`${branches.branch} and ${branches.base} have no common commit.`)
  return text(common)
}

/**
 * Brings the commits of a branch into its base. The merge is made without a work tree. Where the base is checked out,
 * its files follow only if none of them is changed; otherwise the merge is refused, and no file is touched.
 */
export async function mergeIntoBase(
  repository: GitRepository,
  { how, message, commit: upTo, mayDiffer = [], ...branches }: MergeRequest,
): Promise<MergeResult> {
  if (upTo === undefined) await requireClean(repository, 'The work folder')
  const { ours, theirs: tip } = await tipsOf(repository, branches)
  const theirs = upTo ?? tip
  if (await isAncestor(repository, theirs, ours)) return { kind: 'nothing' }
  const place = await checkedOutAt(repository, branches.base)
  if (place !== undefined)
    await requireClean(place, `${place.top}, where ${branches.base} is checked out,`, mayDiffer)
  const { commit, how: made, conflicts } = await joined(repository, { ours, theirs, how, message })
  if (commit === undefined) return { kind: 'conflicts', files: conflicts }
  if (place === undefined) {
    const ref = `refs/heads/${branches.base}`
    await git(repository, ['update-ref', '-m', `merge ${branches.branch}`, ref, commit, ours])
  } else {
    const options = ['--ff-only', '--quiet', '--no-stat', '--no-overwrite-ignore', '--no-autostash']
    await git(place, ['merge', ...options, '--no-verify-signatures', commit], {
      timeoutMs: TIMEOUT_MS,
    }).catch((error: unknown) => {
      if (!hasCode(error, 'git-failed')) throw error
      const why = (error as Error).message.replace('git merge: ', '').replace(/:$/, '')
      throw refused(`Nothing was merged. git refused in ${place.top}: ${why}.`)
    })
  }
  return { kind: 'merged', commit, how: made }
}

/** Puts the commits of a branch on top of its base, each by its author. On a conflict nothing is changed. */
export async function rebaseOnBase(repository: GitRepository, branches: Branches): Promise<MergeResult> {
  await requireClean(repository, 'The work folder')
  const own = await asUser(repository)
  const { ours, theirs } = await tipsOf(repository, branches)
  if (await isAncestor(repository, ours, theirs)) return { kind: 'nothing' }
  const range = ['rev-list', '--reverse', '--topo-order', '--no-merges', `${ours}..${theirs}`]
  const commits = text(await git(repository, range))
    .split('\n')
    .filter(Boolean)
  let tip = ours
  for (const commit of commits) {
    const tree = `${tip}^{tree}`
    // With the parent of the commit as a parent, what is merged is the difference that the commit made.
    const side = text(await git(own, ['commit-tree', tree, '-p', `${commit}^`, '-m', 'rebase']))
    const { tree: result, conflicts } = await mergeTrees(repository, side, commit)
    if (conflicts.length > 0) return { kind: 'conflicts', files: conflicts }
    tip = await repeated(own, commit, { tree: result, parent: tip })
  }
  // Only files that the rebase changes, and only if the work folder is still clean.
  await git(repository, ['reset', '--quiet', '--keep', tip], { timeoutMs: TIMEOUT_MS })
  return { kind: 'merged', commit: tip, how: 'fast-forward' }
}

/** Merges the base into the branch in its own work folder, and leaves conflicts in the files for the agent. */
export async function takeConflicts(repository: GitRepository, branches: Branches): Promise<string[]> {
  await requireClean(repository, 'The work folder')
  const own = await asUser(repository)
  const args = ['merge', '--no-edit', '--quiet', '--no-stat', '--no-gpg-sign', '--no-autostash']
  await git(own, [...args, '--no-verify-signatures', `refs/heads/${branches.base}`], {
    okCodes: [0, 1],
    timeoutMs: TIMEOUT_MS,
  })
  const unmerged = await git(repository, ['diff', '--name-only', '--diff-filter=U', '-z'])
  return unmerged.toString('utf8').split('\0').filter(Boolean)
}

interface Joining {
  ours: string
  theirs: string
  how: MergeHow
  message: string
}

async function joined(
  repository: GitRepository,
  { ours, theirs, how, message }: Joining,
): Promise<{ commit?: string; how: 'fast-forward' | MergeHow; conflicts: string[] }> {
  if (how === 'merge' && (await isAncestor(repository, ours, theirs)))
    return { commit: theirs, how: 'fast-forward', conflicts: [] }
  const { tree, conflicts } = await mergeTrees(repository, ours, theirs)
  if (conflicts.length > 0) return { how, conflicts }
  const own = await asUser(repository)
  const parents = how === 'squash' ? ['-p', ours] : ['-p', ours, '-p', theirs]
  const made = await git(own, ['commit-tree', tree, ...parents, '-F', '-'], { input: message })
  return { commit: text(made), how, conflicts: [] }
}

async function mergeTrees(
  repository: GitRepository,
  ours: string,
  theirs: string,
): Promise<{ tree: string; conflicts: string[] }> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs]
  const output = await git(repository, args, { okCodes: [0, 1], timeoutMs: TIMEOUT_MS })
  const [tree = '', ...conflicts] = output.toString('utf8').split('\0').filter(Boolean)
  return { tree: tree.trim(), conflicts }
}

/** The same commit on another parent: its message, author and time stay. */
async function repeated(
  own: GitRepository,
  commit: string,
  { tree, parent }: { tree: string; parent: string },
): Promise<string> {
  const shown = await git(own, ['show', '-s', '--format=%an%x00%ae%x00%aI%x00%B', commit])
  const [name = '', email = '', date = '', ...message] = shown.toString('utf8').split('\0')
  const env = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date }
  const args = ['commit-tree', tree, '-p', parent, '-F', '-']
  return text(await git(own, args, { env, input: message.join('\0').trimEnd() }))
}

async function tipsOf(
  repository: GitRepository,
  { branch, base }: Branches,
): Promise<{ ours: string; theirs: string }> {
  const ours = await resolve(repository, `refs/heads/${base}`)
  const theirs = await resolve(repository, `refs/heads/${branch}`)
  if (ours === undefined) throw refused(`The base branch ${base} is gone.`)
  if (theirs === undefined) throw refused(`The branch ${branch} is gone.`)
  return { ours, theirs }
}

async function isAncestor(repository: GitRepository, of: string, commit: string): Promise<boolean> {
  const count = await git(repository, ['rev-list', '--count', of, `^${commit}`])
  return text(count) === '0'
}

/** The work tree that has the branch checked out. */
async function checkedOutAt(repository: GitRepository, branch: string): Promise<GitRepository | undefined> {
  const listed = await git(repository, ['worktree', 'list', '--porcelain', '-z'])
  for (const entry of listed.toString('utf8').split('\0\0')) {
    const lines = entry.split('\0')
    if (!lines.includes(`branch refs/heads/${branch}`) || lines.includes('bare')) continue
    const folder = lines.find(line => line.startsWith('worktree '))?.slice('worktree '.length) ?? ''
    const found = lines.some(line => line.startsWith('prunable')) ? undefined : await findRepository(folder)
    if (found?.top === folder) return { ...found, ...(repository.env ? { env: repository.env } : {}) }
  }
  return undefined
}

async function requireClean(repository: GitRepository, where: string, but: string[] = []): Promise<void> {
  const unfinished = await unfinishedIn(repository)
  if (unfinished !== undefined)
    throw refused(`${where} is in the middle of a ${unfinished}. Finish it first. Nothing was merged.`)
  const changed = await changedFiles(repository, where === 'The work folder' ? 'all' : 'no')
  const tracked = changed.filter(file => !but.includes(file))
  if (tracked.length === 0) return
  const what = where === 'The work folder' ? 'Commit or discard it first' : 'Commit or stash it first'
  throw refused(`${where} has uncommitted work: ${listOf(tracked)}. ${what}. Nothing was merged.`)
}

async function changedFiles(repository: GitRepository, untracked: 'all' | 'no'): Promise<string[]> {
  const options = [
    '--porcelain=v1',
    '-z',
    `--untracked-files=${untracked}`,
    '--ignore-submodules=all',
    '--no-renames',
  ]
  const output = await git(repository, ['status', ...options], { maxBytes: MAX_LIST_BYTES })
  return output
    .toString('utf8')
    .split('\0')
    .filter(Boolean)
    .map(entry => entry.slice(3))
}

const MAX_LIST_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 5 * 60_000
