import { hasCode } from '@chirality/core'
import { findRepository } from '../git/find-repository.ts'
import { type GitRepository, git, outputText } from '../git/git.ts'
import { overNested } from '../git/nested-repositories.ts'
import { unfinishedIn } from '../git/unfinished.ts'
import { asUser, resolve, reviewRefused } from './commit.ts'
import { DiskFiles, listOf, shownName } from './disk-files.ts'

/** A branch with work, and the branch that it started from. */
export interface Branches {
  branch: string
  base: string
}

export interface BranchState extends Branches {
  /** Number of commits that the base lacks, and that only the base has. */
  ahead: number
  behind: number
  /** Number of changed, uncommitted files. */
  uncommitted: number
  /** Files that would not merge. */
  conflicts: string[]
  /** Reason for which a merge would be refused where the base is checked out; null if none. */
  blocked: string | null
}

export type MergeHow = 'merge' | 'squash'

export interface MergeRequest extends Branches {
  how: MergeHow
  message: string
  /** Merges only up to this commit of the branch. Uncommitted files on the branch are ignored then. */
  commit?: string
}

export type MergeResult =
  | { kind: 'merged'; commit: string; how: 'fast-forward' | MergeHow }
  | { kind: 'conflicts'; files: string[] }
  | { kind: 'nothing' }

export async function branchState(repository: GitRepository, branches: Branches): Promise<BranchState> {
  const { ours, theirs } = await tipsOf(repository, branches)
  const counted = await git(repository, ['rev-list', '--left-right', '--count', `${ours}...${theirs}`])
  const [behind = 0, ahead = 0] = outputText(counted).split(/\s+/).map(Number)
  const merged = await mergeTrees(repository, ours, theirs)
  const uncommitted = await changedFiles(repository, 'all')
  const { conflicts } = merged
  const place =
    conflicts.length === 0 && ahead > 0 ? await checkedOutAt(repository, branches.base) : undefined
  const blocked = place && (await whatBlocks(place, { base: branches.base, from: ours, to: merged.tree }))
  return { ...branches, ahead, behind, uncommitted: uncommitted.length, conflicts, blocked: blocked ?? null }
}

/** The tree at which a branch left its base. */
export async function treeAtBase(repository: GitRepository, branches: Branches): Promise<string> {
  return outputText(
    await git(repository, ['rev-parse', `${await commitAtBase(repository, branches)}^{tree}`]),
  )
}

/** The commit at which a branch left its base. */
export async function commitAtBase(repository: GitRepository, branches: Branches): Promise<string> {
  const { ours, theirs } = await tipsOf(repository, branches)
  const common = await git(repository, ['merge-base', ours, theirs], { okCodes: [0, 1] })
  if (outputText(common) === '')
    throw reviewRefused(`${branches.branch} and ${branches.base} have no common commit.`)
  return outputText(common)
}

/**
 * Merges the commits of a branch into its base, without a work tree. Where the base is checked out, its files are
 * updated only if the merge touches none with changes; otherwise it is refused and no file is touched.
 */
export async function mergeIntoBase(
  repository: GitRepository,
  { how, message, commit: upTo, ...branches }: MergeRequest,
): Promise<MergeResult> {
  if (upTo === undefined) await requireClean(repository)
  const { ours, theirs: tip } = await tipsOf(repository, branches)
  const theirs = upTo ?? tip
  if (await isAncestor(repository, theirs, ours)) return { kind: 'nothing' }
  const { commit, how: made, conflicts } = await joined(repository, { ours, theirs, how, message })
  if (commit === undefined) return { kind: 'conflicts', files: conflicts }
  const place = await checkedOutAt(repository, branches.base)
  const blocked = place && (await whatBlocks(place, { base: branches.base, from: ours, to: commit }))
  if (blocked !== undefined) throw reviewRefused(`${blocked} Nothing was merged.`)
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
      throw reviewRefused(`Nothing was merged. git refused in ${place.top}: ${why}.`)
    })
  }
  return { kind: 'merged', commit, how: made }
}

/** Rebases the commits of a branch on its base, keeping their authors. On a conflict nothing is changed. */
export async function rebaseOnBase(repository: GitRepository, branches: Branches): Promise<MergeResult> {
  await requireClean(repository)
  const own = await asUser(repository)
  const { ours, theirs } = await tipsOf(repository, branches)
  if (await isAncestor(repository, ours, theirs)) return { kind: 'nothing' }
  const range = ['rev-list', '--reverse', '--topo-order', '--no-merges', `${ours}..${theirs}`]
  const commits = outputText(await git(repository, range))
    .split('\n')
    .filter(Boolean)
  let tip = ours
  for (const commit of commits) {
    const tree = `${tip}^{tree}`
    // With the commit's parent as its own parent, this side makes the merge consist of exactly the commit's changes.
    const side = outputText(await git(own, ['commit-tree', tree, '-p', `${commit}^`, '-m', 'rebase']))
    const { tree: result, conflicts } = await mergeTrees(repository, side, commit)
    if (conflicts.length > 0) return { kind: 'conflicts', files: conflicts }
    tip = await repeated(own, commit, { tree: result, parent: tip })
  }
  // Updates only files that the rebase changes, and only if the work folder is still clean.
  await git(repository, ['reset', '--quiet', '--keep', tip], { timeoutMs: TIMEOUT_MS })
  return { kind: 'merged', commit: tip, how: 'fast-forward' }
}

/** Merges the base into the branch in its work folder, and leaves conflicts in the files for the agent. */
export async function takeConflicts(repository: GitRepository, branches: Branches): Promise<string[]> {
  await requireClean(repository)
  const own = await asUser(repository)
  const args = ['merge', '--no-edit', '--quiet', '--no-stat', '--no-gpg-sign', '--no-autostash']
  const options = { okCodes: [0, 1], timeoutMs: TIMEOUT_MS }
  await overNested(own, {}, () =>
    git(own, [...args, '--no-verify-signatures', `refs/heads/${branches.base}`], options),
  )
  // Skips nested repositories, whose config could name programs.
  const list = ['diff', '--name-only', '--diff-filter=U', '--ignore-submodules=dirty', '-z']
  const unmerged = await git(repository, list)
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
  return { commit: outputText(made), how, conflicts: [] }
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

/** Repeats a commit on another parent with the same message, author and time. */
async function repeated(
  own: GitRepository,
  commit: string,
  { tree, parent }: { tree: string; parent: string },
): Promise<string> {
  const shown = await git(own, ['show', '-s', '--format=%an%x00%ae%x00%aI%x00%B', commit])
  const [name = '', email = '', date = '', ...message] = shown.toString('utf8').split('\0')
  const env = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date }
  const args = ['commit-tree', tree, '-p', parent, '-F', '-']
  return outputText(await git(own, args, { env, input: message.join('\0').trimEnd() }))
}

async function tipsOf(
  repository: GitRepository,
  { branch, base }: Branches,
): Promise<{ ours: string; theirs: string }> {
  const ours = await resolve(repository, `refs/heads/${base}`)
  const theirs = await resolve(repository, `refs/heads/${branch}`)
  if (ours === undefined) throw reviewRefused(`The base branch ${base} is gone.`)
  if (theirs === undefined) throw reviewRefused(`The branch ${branch} is gone.`)
  return { ours, theirs }
}

async function isAncestor(repository: GitRepository, of: string, commit: string): Promise<boolean> {
  const count = await git(repository, ['rev-list', '--count', of, `^${commit}`])
  return outputText(count) === '0'
}

/** The work tree that has the branch checked out. */
async function checkedOutAt(repository: GitRepository, branch: string): Promise<GitRepository | undefined> {
  const listed = await git(repository, ['worktree', 'list', '--porcelain', '-z'])
  for (const entry of listed.toString('utf8').split('\0\0')) {
    const lines = entry.split('\0')
    if (!lines.includes(`branch refs/heads/${branch}`) || lines.includes('bare')) continue
    const folder = lines.find(line => line.startsWith('worktree '))?.slice('worktree '.length) ?? ''
    const found = lines.some(line => line.startsWith('prunable')) ? undefined : await findRepository(folder)
    if (found?.top === folder) return { ...found, env: repository.env }
  }
  return undefined
}

async function requireClean(repository: GitRepository): Promise<void> {
  const where = 'The work folder'
  const unfinished = await unfinishedIn(repository)
  if (unfinished !== undefined)
    throw reviewRefused(`${where} is in the middle of a ${unfinished}. Finish it first. Nothing was merged.`)
  const changed = await changedFiles(repository, 'all')
  if (changed.length === 0) return
  throw reviewRefused(
    `${where} has uncommitted work: ${listOf(changed)}. Commit or discard it first. Nothing was merged.`,
  )
}

/** Undefined if the folder's files can follow the branch between the two states without losing changes. */
async function whatBlocks(
  place: GitRepository,
  { base, from, to }: { base: string; from: string; to: string },
): Promise<string | undefined> {
  const where = `${place.top}, where ${base} is checked out,`
  const unfinished = await unfinishedIn(place)
  if (unfinished !== undefined) return `${where} is in the middle of a ${unfinished}. Finish it first.`
  const options = ['-r', '-z', '--name-status', '--no-renames', from, to]
  const output = await git(place, ['diff-tree', ...options], { maxBytes: MAX_LIST_BYTES })
  const words = output.toString('latin1').split('\0')
  const touched = new Set<string>()
  const added: string[] = []
  for (let i = 0; i + 1 < words.length; i += 2) {
    const name = words[i + 1] ?? ''
    touched.add(name)
    if (words[i] === 'A') added.push(name)
  }
  const isTouched = (file: string) => {
    const name = Buffer.from(file, 'utf8').toString('latin1')
    if (touched.has(name)) return true
    // A file in the place of a folder, or the other way round.
    for (const other of touched) if (other.startsWith(`${name}/`) || name.startsWith(`${other}/`)) return true
    return false
  }
  const changed = (await changedFiles(place, 'no')).filter(isTouched)
  if (changed.length > 0)
    return `${where} has uncommitted work in files that the merge changes: ${listOf(changed)}. Commit or stash it first.`
  const disk = new DiskFiles(place)
  const folders = new Map<string, boolean>()
  const present = added.filter(name => disk.has(name, folders)).map(shownName)
  if (present.length === 0) return undefined
  return `${where} has files that git does not know in the place of new ones: ${listOf(present)}. Move them first.`
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
