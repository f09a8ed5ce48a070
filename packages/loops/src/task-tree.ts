import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '@chirality/core'
import { copyCarefully } from '@chirality/disk'
import { findByMarker, MARKER_VARIABLE } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import {
  findRepository,
  type GitRepository,
  git,
  OWN_IDENTITY,
  overNested,
  stageFiles,
  type Worktree,
} from '@chirality/workspaces'
import type { DiffStat } from './journal.ts'
import { loopError } from './loop-error.ts'
import type { LoopState, TaskState } from './loop-state.ts'
import type { ChangedFile } from './proof/matter.ts'

/** Git in a worktree of a loop. Runs no hook of the repository, and fetches and pushes nothing. */
export class TaskTree {
  readonly folder: string
  readonly #repository: GitRepository
  readonly #inCommit = new Map<string, boolean>()

  private constructor(folder: string, repository: GitRepository) {
    this.folder = folder
    this.#repository = repository
  }

  /** `worktreeId` marks the git processes, so that the next process finds one that outlived this one. */
  static async open(folder: string, worktreeId?: string): Promise<TaskTree> {
    const repository = await findRepository(folder)
    if (repository === undefined) throw loopError('loop-refused', `${folder} is not in a git repository.`)
    const env: Record<string, string> =
      worktreeId === undefined ? {} : { [MARKER_VARIABLE]: gitMarker(worktreeId) }
    const overrides = [...repository.overrides, ...CAREFUL]
    return new TaskTree(folder, { ...repository, overrides, env: { ...NOT_REPLACED, ...env } })
  }

  /** Waits for a git that outlived its process and still writes; killing it would leave its lock files. */
  static async gitHasEnded(worktreeId: string): Promise<void> {
    while ((await findByMarker(gitMarker(worktreeId))).length > 0) await sleep(50)
  }

  /** Path of the project below the top of the worktree, with `/`. */
  get prefix(): string {
    return this.#repository.prefix
  }

  /** Top folder of the worktree. */
  get top(): string {
    return this.#repository.top
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

  /** Stages everything but the files in `except`, which are restored from `base`. Resolves with the tree. */
  async stage(base: string, except: readonly string[]): Promise<string> {
    await stageFiles(this.#repository, '--all', { timeoutMs: SLOW_MS })
    for (const file of except) {
      if (!(await this.#isInCommit(base, file))) continue
      await this.#run(['restore', `--source=${base}`, '--staged', '--worktree', '--', file])
    }
    return this.#text(['write-tree'])
  }

  /** Cached, because a commit does not change. */
  async #isInCommit(commit: string, file: string): Promise<boolean> {
    const name = `${commit}:${file}`
    const known =
      this.#inCommit.get(name) ?? (await this.#run(['ls-tree', '-z', commit, '--', file])).length > 0
    this.#inCommit.set(name, known)
    return known
  }
  stagedTree(): Promise<string> {
    return this.#text(['write-tree'])
  }

  async diffStat(from: string, to: string): Promise<DiffStat> {
    return (await this.difference(from, to)).stat
  }

  /** Size of the difference, and its files with status `A`, `M`, `D` or `T`. */
  async difference(from: string, to: string): Promise<{ stat: DiffStat; files: ChangedFile[] }> {
    const args = ['diff-tree', '-r', '--raw', '--numstat', '-z', '--no-renames', from, to]
    const words = (await this.#run(args, BIG)).toString('utf8').split('\0')
    const stat: DiffStat = { files: 0, insertions: 0, deletions: 0 }
    const files: ChangedFile[] = []
    let at = 0
    for (; words[at]?.startsWith(':'); at += 2)
      files.push({ status: words[at]?.slice(-1) ?? '', path: words[at + 1] ?? '' })
    for (const entry of words.slice(at)) {
      const [added, removed] = entry.split('\t')
      if (removed === undefined) continue
      stat.files += 1
      stat.insertions += Number(added) || 0
      stat.deletions += Number(removed) || 0
    }
    return { stat, files }
  }

  /**
   * Added and removed lines, file by file in the order of `difference`. Null if they are too large. No file counts as
   * binary: a zero byte or an attribute would hide the lines of code.
   */
  async changedLines(from: string, to: string): Promise<string[] | null> {
    try {
      const output = await this.#run(
        ['diff-tree', '-r', '-p', '-U0', '--text', '--no-renames', from, to],
        BIG,
      )
      return output.toString('utf8').split('\n')
    } catch (error) {
      if (hasCode(error, 'too-large')) return null
      throw error
    }
  }

  /**
   * Texts of files by `<commit>:<path>`, without missing and too large ones. `noteFalse` is called for an object that
   * somebody overwrote in the object store: its hash differs from its name, which git does not check.
   */
  async textsOf(
    names: readonly string[],
    noteFalse: (name: string) => void = () => {},
  ): Promise<Map<string, string>> {
    const texts = new Map<string, string>()
    const asked = names.filter(name => !name.includes('\n'))
    for (let at = 0; at < asked.length; at += MAX_PATHS) {
      const some = asked.slice(at, at + MAX_PATHS)
      const input = some.map(name => `${name}\n`).join('')
      const output = await this.#run(['cat-file', '--batch'], { ...BIG, input }).catch((error: unknown) => {
        if (hasCode(error, 'too-large')) return Buffer.alloc(0)
        throw error
      })
      let from = 0
      for (const name of some) {
        const end = output.indexOf(0x0a, from)
        if (end < 0) break
        const [, id, type, size] = /^(\w+) (\w+) (\d+)$/.exec(output.toString('utf8', from, end)) ?? []
        from = end + 1
        if (id === undefined || size === undefined) continue
        const content = output.subarray(from, from + Number(size))
        if (type === 'blob') texts.set(name, content.toString('utf8'))
        if (type === 'blob' && id !== blobId(content, id.length)) noteFalse(name)
        from += Number(size) + 1
      }
    }
    return texts
  }

  /** Files of git itself by which it shows another history, or other texts, than it has. Few repositories have them. */
  async sourcesOfGit(): Promise<string[]> {
    const names = ['shallow', 'info/attributes', 'objects/info/alternates']
    const paths = names.flatMap(name => ['--git-path', name])
    return (await this.#text(['rev-parse', '--path-format=absolute', ...paths])).split('\n')
  }

  /** Files in no commit, including ignored ones. A completely unknown folder is one entry. */
  async notInGit(): Promise<string[]> {
    const others = ['ls-files', '--others', '--directory', '--no-empty-directory', '-z']
    const output = await this.#run(others, BIG)
    return output.toString('utf8').split('\0').filter(Boolean)
  }

  /** All files of a commit, from the top. */
  async filesIn(commit: string): Promise<string[]> {
    const output = await this.#run(['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit], BIG)
    return output.toString('utf8').split('\0').filter(Boolean)
  }

  /** Restores files from a commit. Staged changes stay. */
  async restoreFrom(commit: string, files: readonly string[]): Promise<void> {
    for (let at = 0; at < files.length; at += MAX_PATHS) {
      const some = files.slice(at, at + MAX_PATHS)
      await this.#run(['restore', `--source=${commit}`, '--worktree', '--', ...some], { timeoutMs: SLOW_MS })
    }
  }

  /**
   * Makes git look again at files that it was told to ignore although they exist: their changes would be missing in the
   * commit, while checks would read them. Resolves with their names.
   */
  async showHidden(): Promise<string[]> {
    const output = await this.#run(['ls-files', '-v', '-z'], BIG)
    const hidden = output
      .toString('utf8')
      .split('\0')
      .filter(entry => /^[a-zS] /.test(entry))
      .map(entry => entry.slice(2))
      .filter(file => existsSync(path.join(this.top, file)))
    for (let at = 0; at < hidden.length; at += MAX_PATHS) {
      const some = hidden.slice(at, at + MAX_PATHS)
      for (const bit of ['--no-assume-unchanged', '--no-skip-worktree'])
        await this.#run(['update-index', bit, '--', ...some])
    }
    return hidden
  }

  /** Commits the staged changes, if any. Resolves with the commit. */
  async commit(message: string): Promise<string> {
    const head = await this.head()
    if ((await this.stagedTree()) === (await this.treeOf(head))) return head
    await this.#run(['commit', '--quiet', '--no-verify', '--no-gpg-sign', '-m', message], {
      env: await this.#identity(),
    })
    return this.head()
  }

  /** Merges a commit as one step of the branch. On a conflict nothing is changed. */
  async merge(
    commit: string,
    message: string,
  ): Promise<{ merged: true } | { merged: false; files: string[] }> {
    const options = ['--quiet', '--no-ff', '--no-verify', '--no-gpg-sign', '-m', message]
    try {
      const env = await this.#identity()
      await overNested(this.#repository, {}, () =>
        this.#run(['merge', ...options, commit], { env, timeoutMs: SLOW_MS }),
      )
      return { merged: true }
    } catch (error) {
      if (!hasCode(error, 'git-failed')) throw error
      const unmerged = await this.#run(UNMERGED)
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

  /** The commit after `onto` that reverts a merge. */
  async revertOf(merge: string, onto: string): Promise<string | undefined> {
    const words = `This reverts commit ${merge}`
    const found = ['log', '--first-parent', '--format=%H', '--fixed-strings', `--grep=${words}`, 'HEAD']
    return (await this.#text([...found, `^${onto}`])).split('\n').find(Boolean)
  }

  async abortRevert(): Promise<void> {
    await this.#run(['revert', '--abort'], { okCodes: [0, 128] })
  }

  /** True if known files differ from the last commit. */
  async isChanged(): Promise<boolean> {
    const options = ['--porcelain', '--untracked-files=no', '--ignore-submodules=dirty']
    return (await this.#run(['status', ...options], BIG)).length > 0
  }

  /** Reverts a merge by a commit. Otherwise resolves with the conflicting files, and nothing is changed. */
  async revert(merge: string): Promise<{ reverted: true } | { reverted: false; files: string[] }> {
    const env = await this.#identity()
    const options = { env: { ...env, GIT_EDITOR: 'true' }, timeoutMs: SLOW_MS }
    try {
      await overNested(this.#repository, {}, () =>
        this.#run(['revert', '--no-edit', '--no-gpg-sign', '-m', '1', merge], options),
      )
      return { reverted: true }
    } catch (error) {
      if (!hasCode(error, 'git-failed')) throw error
      const unmerged = await this.#run(UNMERGED)
      const files = unmerged.toString('utf8').split('\0').filter(Boolean)
      await this.abortRevert()
      if (files.length === 0) throw error
      return { reverted: false, files }
    }
  }

  async isAncestor(commit: string, of: string): Promise<boolean> {
    return (await this.#text(['rev-list', '--count', commit, `^${of}`])) === '0'
  }

  /** False if the branch does not exist. */
  async isIn(commit: string, branch: string): Promise<boolean> {
    return (await this.hasCommit(branch)) && (await this.isAncestor(commit, branch))
  }

  /** Branches that contain a commit. */
  async branchesWith(commit: string): Promise<string[]> {
    const found = ['for-each-ref', '--format=%(refname:short)', `--contains=${commit}`, 'refs/heads']
    return (await this.#text(found)).split('\n').filter(Boolean)
  }

  /** Resets to a commit. Uncommitted changes of known files are kept by a ref below `keepAs`, which is returned. */
  async resetTo(commit: string, keepAs: string): Promise<string | undefined> {
    const kept = await this.#keepChanges(keepAs)
    await this.#run(['reset', '--quiet', '--hard', commit], { timeoutMs: SLOW_MS })
    return kept
  }

  /** Works on a copy of the index, which may belong to an interrupted merge, where no stash can be made. */
  async #keepChanges(keepAs: string): Promise<string | undefined> {
    if (!(await this.isChanged())) return undefined
    const index = path.resolve(this.#repository.top, await this.#text(['rev-parse', '--git-path', 'index']))
    const copy = `${index}.kept-${process.pid}`
    const env = { ...(await this.#identity()), GIT_INDEX_FILE: copy }
    try {
      await copyCarefully(index, copy)
      await stageFiles(this.#repository, '--update', { env, timeoutMs: SLOW_MS })
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

  /** Empty if the user has an identity, else Chirality's. */
  async #identity(): Promise<Record<string, string>> {
    const own = await this.#run(['config', '--get', 'user.email'], { okCodes: [0, 1] })
    return own.length > 0 ? {} : OWN_IDENTITY
  }

  async #text(args: string[], options: Parameters<typeof git>[2] = {}): Promise<string> {
    return (await this.#run(args, options)).toString('utf8').trim()
  }

  #run(args: string[], options: Parameters<typeof git>[2] = {}): Promise<Buffer> {
    return git(this.#repository, args, options)
  }
}

/** Skips nested repositories, whose config could name programs. */
const UNMERGED = ['diff', '--name-only', '--diff-filter=U', '--ignore-submodules=dirty', '-z']

/** The worktree of a task, made if it is missing. */
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

function blobId(content: Buffer, length: number): string {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1')
  return hash.update(`blob ${content.length}\0`).update(content).digest('hex')
}

function gitMarker(worktreeId: string): string {
  return `loop-git-${worktreeId}`
}

/** Settings of an agent could let a changed file look unchanged to git. */
const CAREFUL: GitRepository['overrides'] = [
  ['core.checkStat', 'default'],
  ['core.trustctime', 'true'],
  ['core.ignoreStat', 'false'],
]
/** A replace ref could substitute the text of a test, and a graft the history. */
const NOT_REPLACED = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null/none' }
const SLOW_MS = 120_000
/** Limit for the length of a command line. */
const MAX_PATHS = 200
const BIG = { maxBytes: 64 * 1024 * 1024, timeoutMs: SLOW_MS }
