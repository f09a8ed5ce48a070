import { copyFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '@chirality/core'
import { findByMarker, MARKER_VARIABLE } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import { findRepository, type GitRepository, git, type Worktree } from '@chirality/workspaces'
import type { DiffStat } from './journal.ts'
import { loopError } from './loop-error.ts'
import type { LoopState, TaskState } from './loop-state.ts'

/** Git in a worktree of a loop. No hook of the repository runs, and nothing is fetched or pushed. */
export class TaskTree {
  readonly folder: string
  readonly #repository: GitRepository

  private constructor(folder: string, repository: GitRepository) {
    this.folder = folder
    this.#repository = repository
  }

  /** `worktreeId`: so that a git that outlives its process is found by the next one. */
  static async open(folder: string, worktreeId?: string): Promise<TaskTree> {
    const repository = await findRepository(folder)
    if (repository === undefined) throw loopError('loop-refused', `${folder} is not in a git repository.`)
    const env = worktreeId === undefined ? {} : { env: { [MARKER_VARIABLE]: gitMarker(worktreeId) } }
    return new TaskTree(folder, { ...repository, ...env })
  }

  /** A git that outlived its process still writes: it is waited for, because killing it would leave its lock files. */
  static async gitHasEnded(worktreeId: string): Promise<void> {
    while ((await findByMarker(gitMarker(worktreeId))).length > 0) await sleep(50)
  }

  /** The project below the top of the worktree, with `/`. */
  get prefix(): string {
    return this.#repository.prefix
  }

  head(): Promise<string> {
    return this.commitOf('HEAD')
  }

  commitOf(name: string): Promise<string> {
    return this.#text(['rev-parse', '--verify', '--quiet', `${name}^{commit}`])
  }

  async hasCommit(name: string): Promise<boolean> {
    return this.commitOf(name).then(
      () => true,
      () => false,
    )
  }

  treeOf(commit: string): Promise<string> {
    return this.#text(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`])
  }

  /** Stages everything but the files in `except`, which are as in `base`. Resolves with the tree. */
  async stage(base: string, except: readonly string[]): Promise<string> {
    await this.#run(['add', '--all'], { timeoutMs: SLOW_MS })
    for (const file of except) {
      if (!(await this.#isInCommit(base, file))) continue
      await this.#run(['restore', `--source=${base}`, '--staged', '--worktree', '--', file])
    }
    return this.#text(['write-tree'])
  }

  /** Asked once: a commit does not change. */
  async #isInCommit(commit: string, file: string): Promise<boolean> {
    const name = `${commit}:${file}`
    const known =
      this.#inCommit.get(name) ?? (await this.#run(['ls-tree', '-z', commit, '--', file])).length > 0
    this.#inCommit.set(name, known)
    return known
  }
  readonly #inCommit = new Map<string, boolean>()

  stagedTree(): Promise<string> {
    return this.#text(['write-tree'])
  }

  async diffStat(from: string, to: string): Promise<DiffStat> {
    const output = await this.#run(['diff-tree', '-r', '--numstat', '-z', '--no-renames', from, to], BIG)
    const stat: DiffStat = { files: 0, insertions: 0, deletions: 0 }
    for (const entry of output.toString('utf8').split('\0')) {
      const [added, removed] = entry.split('\t')
      if (removed === undefined) continue
      stat.files += 1
      stat.insertions += Number(added) || 0
      stat.deletions += Number(removed) || 0
    }
    return stat
  }

  /** The files that differ: `A`, `M` or `D`, and the path. */
  async changedFiles(from: string, to: string): Promise<{ status: string; path: string }[]> {
    const output = await this.#run(['diff-tree', '-r', '--name-status', '-z', '--no-renames', from, to], BIG)
    const words = output.toString('utf8').split('\0')
    const files: { status: string; path: string }[] = []
    for (let at = 0; at + 1 < words.length; at += 2)
      files.push({ status: words[at] ?? '', path: words[at + 1] ?? '' })
    return files
  }

  /** The lines that were added and removed in some files. Null if they are too large to read. */
  async changedLines(from: string, to: string, files: string[]): Promise<string[] | null> {
    if (files.length === 0) return []
    try {
      const output = await this.#run(['diff-tree', '-r', '-p', '-U0', from, to, '--', ...files], BIG)
      return output.toString('utf8').split('\n')
    } catch (error) {
      if (hasCode(error, 'too-large')) return null
      throw error
    }
  }

  async show(commit: string, file: string): Promise<string> {
    const output = await this.#run(['show', `${commit}:${file}`], { okCodes: [0, 128] })
    return output.toString('utf8')
  }

  /** Commits what is staged, if it is anything. Resolves with the commit. */
  async commit(message: string): Promise<string> {
    const head = await this.head()
    if ((await this.stagedTree()) === (await this.treeOf(head))) return head
    await this.#run(['commit', '--quiet', '--no-verify', '--no-gpg-sign', '-m', message], {
      env: await this.#identity(),
    })
    return this.head()
  }

  /** Merges a commit as one step of the branch. False, with nothing changed, if there is a conflict. */
  async merge(
    commit: string,
    message: string,
  ): Promise<{ merged: true } | { merged: false; files: string[] }> {
    const options = ['--quiet', '--no-ff', '--no-verify', '--no-gpg-sign', '-m', message]
    try {
      await this.#run(['merge', ...options, commit], { env: await this.#identity(), timeoutMs: SLOW_MS })
      return { merged: true }
    } catch (error) {
      if (!hasCode(error, 'git-failed')) throw error
      const unmerged = await this.#run(['diff', '--name-only', '--diff-filter=U', '-z'])
      const files = unmerged.toString('utf8').split('\0').filter(Boolean)
      await this.abortMerge()
      if (files.length === 0) throw error
      return { merged: false, files }
    }
  }

  /** The merge of a commit that the branch got after `onto`. */
  async mergeOf(commit: string, onto: string): Promise<string | undefined> {
    const lines = await this.#text([
      'rev-list',
      '--first-parent',
      '--merges',
      '--parents',
      'HEAD',
      `^${onto}`,
    ])
    return lines
      .split('\n')
      .map(line => line.split(' '))
      .find(([, , second]) => second === commit)?.[0]
  }

  async abortMerge(): Promise<void> {
    await this.#run(['merge', '--abort'], { okCodes: [0, 128] })
  }

  /** The commit after `onto` that takes a merge back. */
  async revertOf(merge: string, onto: string): Promise<string | undefined> {
    const words = `This reverts commit ${merge}`
    const found = ['log', '--first-parent', '--format=%H', '--fixed-strings', `--grep=${words}`, 'HEAD']
    return (await this.#text([...found, `^${onto}`])).split('\n').find(Boolean)
  }

  async abortRevert(): Promise<void> {
    await this.#run(['revert', '--abort'], { okCodes: [0, 128] })
  }

  /** Whether files that git knows are not as in the last commit. */
  async isChanged(): Promise<boolean> {
    return (await this.#run(['status', '--porcelain', '--untracked-files=no'], BIG)).length > 0
  }

  /** Makes a commit that takes a merge back. The files that stand in the way otherwise, and nothing is changed. */
  async revert(merge: string): Promise<{ reverted: true } | { reverted: false; files: string[] }> {
    const env = await this.#identity()
    const options = { env: { ...env, GIT_EDITOR: 'true' }, timeoutMs: SLOW_MS }
    try {
      await this.#run(['revert', '--no-edit', '--no-gpg-sign', '-m', '1', merge], options)
      return { reverted: true }
    } catch (error) {
      if (!hasCode(error, 'git-failed')) throw error
      const unmerged = await this.#run(['diff', '--name-only', '--diff-filter=U', '-z'])
      const files = unmerged.toString('utf8').split('\0').filter(Boolean)
      await this.abortRevert()
      if (files.length === 0) throw error
      return { reverted: false, files }
    }
  }

  async isAncestor(commit: string, of: string): Promise<boolean> {
    return (await this.#text(['rev-list', '--count', commit, `^${of}`])) === '0'
  }

  /** False if there is no such branch, too. */
  async isIn(commit: string, branch: string): Promise<boolean> {
    return (await this.hasCommit(branch)) && (await this.isAncestor(commit, branch))
  }

  /** What git knows and is not committed is kept below `keepAs`. Resolves with the ref, if there was any. */
  async resetTo(commit: string, keepAs: string): Promise<string | undefined> {
    const kept = await this.#keepChanges(keepAs)
    await this.#run(['reset', '--quiet', '--hard', commit], { timeoutMs: SLOW_MS })
    return kept
  }

  /** In a copy of the index, which may be that of a merge which was cut off: no stash can be made of it. */
  async #keepChanges(keepAs: string): Promise<string | undefined> {
    if (!(await this.isChanged())) return undefined
    const index = path.resolve(this.#repository.top, await this.#text(['rev-parse', '--git-path', 'index']))
    const copy = `${index}.kept-${process.pid}`
    const env = { ...(await this.#identity()), GIT_INDEX_FILE: copy }
    try {
      await copyFile(index, copy)
      await this.#run(['add', '--update'], { env, timeoutMs: SLOW_MS })
      const tree = await this.#text(['write-tree'], { env })
      const head = await this.head()
      if (tree === (await this.treeOf(head))) return undefined
      const kept = await this.#text(['commit-tree', tree, '-p', head, '-m', 'Not committed'], { env })
      const ref = `${keepAs}/${Date.now()}`
      await this.#run(['update-ref', ref, kept])
      return ref
    } finally {
      await rm(copy, { force: true })
    }
  }

  /** Makes a worktree without a branch at a commit. */
  async checkOut(folder: string, commit: string): Promise<void> {
    await this.#run(['worktree', 'add', '--quiet', '--detach', folder, commit], { timeoutMs: SLOW_MS })
  }

  async removeCheckOut(folder: string): Promise<void> {
    await this.#run(['worktree', 'remove', '--force', folder], { timeoutMs: SLOW_MS, okCodes: [0, 128] })
    await this.#run(['worktree', 'prune'])
  }

  /** The user's own, or Chirality's if there is none. */
  async #identity(): Promise<Record<string, string>> {
    const own = await this.#run(['config', '--get', 'user.email'], { okCodes: [0, 1] })
    return own.length > 0 ? {} : IDENTITY
  }

  async #text(args: string[], options: Parameters<typeof git>[2] = {}): Promise<string> {
    return (await this.#run(args, options)).toString('utf8').trim()
  }

  #run(args: string[], options: Parameters<typeof git>[2] = {}): Promise<Buffer> {
    return git(this.#repository, args, options)
  }
}

/** The worktree of a task, made if it is not there. */
export async function worktreeOf(
  { worktrees }: Pick<SessionHost, 'worktrees'>,
  { projectRoot }: LoopState,
  { worktreeId: id, base, task: { title } }: TaskState,
): Promise<Worktree> {
  const found = await worktrees.find(id)
  if (found === undefined) return (await worktrees.make({ projectRoot, title, base, id })).worktree
  if (found.state !== 'ready') return worktrees.restore(id)
  await worktrees.require(id)
  return found
}

function gitMarker(worktreeId: string): string {
  return `loop-git-${worktreeId}`
}

const SLOW_MS = 120_000
const BIG = { maxBytes: 64 * 1024 * 1024, timeoutMs: SLOW_MS }
const IDENTITY = {
  ...{ GIT_AUTHOR_NAME: 'Chirality', GIT_AUTHOR_EMAIL: 'chirality@localhost' },
  ...{ GIT_COMMITTER_NAME: 'Chirality', GIT_COMMITTER_EMAIL: 'chirality@localhost' },
}
