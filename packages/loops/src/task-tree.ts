import { hasCode } from '@chirality/core'
import { findRepository, type GitRepository, git } from '@chirality/workspaces'
import type { DiffStat } from './journal.ts'
import { loopError } from './loop-error.ts'

/** Git in a worktree of a loop. No hook of the repository runs, and nothing is fetched or pushed. */
export class TaskTree {
  readonly folder: string
  readonly #repository: GitRepository

  private constructor(folder: string, repository: GitRepository) {
    this.folder = folder
    this.#repository = repository
  }

  static async open(folder: string): Promise<TaskTree> {
    const repository = await findRepository(folder)
    if (repository === undefined) throw loopError('loop-refused', `${folder} is not in a git repository.`)
    return new TaskTree(folder, repository)
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
      const inBase = await this.#run(['ls-tree', '-z', base, '--', file])
      if (inBase.length === 0) continue
      await this.#run(['restore', `--source=${base}`, '--staged', '--worktree', '--', file])
    }
    return this.#text(['write-tree'])
  }

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
      await this.#run(['merge', '--abort'], { okCodes: [0, 128] })
      if (files.length === 0) throw error
      return { merged: false, files }
    }
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
      await this.#run(['revert', '--abort'], { okCodes: [0, 128] })
      if (files.length === 0) throw error
      return { reverted: false, files }
    }
  }

  async isAncestor(commit: string, of: string): Promise<boolean> {
    return (await this.#text(['rev-list', '--count', commit, `^${of}`])) === '0'
  }

  async resetTo(commit: string): Promise<void> {
    await this.#run(['reset', '--quiet', '--hard', commit], { timeoutMs: SLOW_MS })
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

  async #text(args: string[]): Promise<string> {
    return (await this.#run(args)).toString('utf8').trim()
  }

  #run(args: string[], options: Parameters<typeof git>[2] = {}): Promise<Buffer> {
    return git(this.#repository, args, options)
  }
}

const SLOW_MS = 120_000
const BIG = { maxBytes: 64 * 1024 * 1024, timeoutMs: SLOW_MS }
const IDENTITY = {
  ...{ GIT_AUTHOR_NAME: 'Chirality', GIT_AUTHOR_EMAIL: 'chirality@localhost' },
  ...{ GIT_COMMITTER_NAME: 'Chirality', GIT_COMMITTER_EMAIL: 'chirality@localhost' },
}
