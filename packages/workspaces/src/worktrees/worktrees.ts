import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { KeyedQueue } from '@chirality/disk'
import { endMarked, findByMarker } from '@chirality/runner'
import { type GitRepository, git } from '../git/git.ts'
import { workspaceError } from '../workspace-error.ts'
import { type ReceivedWork, takeWork } from './carried-work.ts'
import { type Base, checkBase, freeBranch, resolveCommit, slugOf } from './check-base.ts'
import {
  CHECKOUT_TIMEOUT_MS,
  forgetKept,
  hasOwnWork,
  keepBranch,
  keepWork,
  restoreFiles,
} from './kept-work.ts'
import {
  isAtWork,
  type KeptWork,
  requireId,
  type SetupRecord,
  type Worktree,
  WorktreeRecords,
} from './worktree-records.ts'
import { exists, marked, openWorktree, repositoryOf, worktreeMarker } from './worktree-repository.ts'

export interface NewWorktree {
  projectRoot: string
  /** Text for the branch name: `chirality/<slug>`. */
  title: string
  /** A branch, tag or commit. Default: the project's current commit. */
  base?: string | undefined
  /** Branch that the work goes to. Default: `base`, or the current branch. */
  baseBranch?: string | null | undefined
  /** Id chosen by the caller, to find the worktree again after a crash. */
  id?: string | undefined
}

export interface MadeWorktree {
  worktree: Worktree
  base: Base
}

export type WorktreeCondition =
  | 'ready'
  /** The folder was removed by somebody else. Its commits are still on the branch. */
  | 'missing'
  /** Its repository is gone or was moved. */
  | 'orphaned'
  /** Removed; its work is kept. */
  | 'removed'

export interface ListedWorktree extends Worktree {
  condition: WorktreeCondition
}

/** The project folder that a worktree was made from. */
export function projectOf({ repository, prefix }: Pick<Worktree, 'repository' | 'prefix'>): string {
  return path.join(repository, prefix)
}

/**
 * The worktrees of sessions. They lie outside the project in the user's data folder, and outlive the server. Removing
 * one never loses work: see `keepWork()`.
 */
export class Worktrees {
  readonly #records: WorktreeRecords
  /** One operation at a time per worktree. */
  readonly #queues = new KeyedQueue()

  /** `folder` must be used by this class only. */
  constructor(folder: string) {
    this.#records = new WorktreeRecords(folder)
  }

  async make({ projectRoot, title, base: from, baseBranch, id: given }: NewWorktree): Promise<MadeWorktree> {
    const base = await checkBase(projectRoot, from)
    const slug = slugOf(title)
    const id = given ?? `${slug}-${randomBytes(3).toString('hex')}`
    const repository = marked(base.repository, id)
    const worktree: Worktree = {
      id,
      repository: repository.top,
      folder: path.join(this.#records.folder, id, path.basename(repository.top)),
      prefix: repository.prefix,
      branch: await freeBranch(repository, slug, id),
      base: base.commit,
      baseBranch: baseBranch ?? base.branch,
      createdAt: new Date().toISOString(),
      state: 'making',
    }
    return this.#queues.run(id, async () => {
      await this.#records.write(worktree)
      try {
        await this.#checkOut(worktree, repository, base.commit)
      } catch (error) {
        await this.#unmake(worktree, repository)
        throw error
      }
      const ready: Worktree = { ...worktree, state: 'ready' }
      await this.#records.write(ready)
      return { worktree: ready, base }
    })
  }

  async list(): Promise<ListedWorktree[]> {
    const records = await this.#records.all()
    const listed = await Promise.all(
      records.map(async record => ({ ...record, condition: await conditionOf(record) })),
    )
    return listed.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  }

  find(id: string): Promise<Worktree | undefined> {
    return this.#records.read(id)
  }

  async get(id: string): Promise<Worktree> {
    const worktree = await this.find(id)
    if (worktree === undefined) throw workspaceError('worktree-missing', `There is no worktree ${id}.`)
    return worktree
  }

  /** Throws if an agent cannot work in it now, with the way out. */
  async require(id: string): Promise<void> {
    const { folder, state } = await this.get(id)
    if (state === 'ready' && (await exists(folder))) return
    throw workspaceError(
      'worktree-missing',
      `The worktree ${folder} of this session is not there. Restore it: chirality worktrees restore ${id}`,
    )
  }

  /**
   * Also throws if its folder is no work tree of its repository any more. Git would search the folders above and change
   * the files of another repository.
   */
  async requireOwn(id: string): Promise<void> {
    await this.require(id)
    const worktree = await this.get(id)
    await openWorktree(worktree, await repositoryOf(worktree))
  }

  /** True if everything in it is elsewhere too: it has no commit and no changed or new unignored file of its own. */
  async isClean(id: string): Promise<boolean> {
    const worktree = await this.get(id)
    if ((await conditionOf(worktree)) !== 'ready') return false
    return !(await hasOwnWork(worktree, await openWorktree(worktree, await repositoryOf(worktree))))
  }

  /** Removes the folder and the branch. Resolves with the kept work, or undefined if everything is elsewhere too. */
  remove(id: string): Promise<KeptWork | undefined> {
    return this.#queues.run(id, async () => {
      const worktree = await this.get(id)
      return worktree.state === 'removed' ? worktree.kept : this.#remove(worktree)
    })
  }

  /**
   * Makes a worktree from work that another machine packed. A repeated call with the same id continues after a crash.
   * The work is kept from the moment its commits arrive, even if the folder fails.
   */
  async receive(received: ReceivedWork): Promise<Worktree> {
    requireId(received.id)
    if ((await this.find(received.id)) === undefined)
      await this.#records.write(await takeWork(received, this.#records.folder))
    return this.restore(received.id)
  }

  /** Restores a removed or missing worktree with its branch, files and staged changes. */
  restore(id: string): Promise<Worktree> {
    return this.#queues.run(id, async () => {
      const worktree = await this.get(id)
      const repository = await repositoryOf(worktree)
      if (worktree.state === 'ready' && (await exists(worktree.folder))) return worktree
      const kept = worktree.kept ?? (await keepBranch(worktree, repository))
      if (kept === undefined)
        throw workspaceError('worktree-missing', `Nothing of the worktree ${id} is kept: its branch is gone.`)
      await this.#records.write({ ...worktree, kept, state: 'making' })
      try {
        await this.#unregister(worktree, repository)
        await deleteBranch(repository, worktree.branch, kept.head)
        await this.#checkOut(worktree, repository, kept.head)
        await restoreFiles(await openWorktree(worktree, repository), kept)
      } catch (error) {
        await this.#unmake({ ...worktree, kept }, repository)
        throw error
      }
      const { kept: _kept, ...rest } = worktree
      const ready: Worktree = { ...rest, state: 'ready' }
      await this.#records.write(ready)
      await forgetKept(repository, id)
      return ready
    })
  }

  /**
   * Removes the record and refs of a removed worktree, which gives up its kept work. Also accepts one whose repository
   * is gone; its files stay where they are.
   */
  forget(id: string): Promise<Worktree> {
    return this.#queues.run(id, async () => {
      const worktree = await this.get(id)
      const isGone = await isOrphaned(worktree)
      if (worktree.state !== 'removed' && !isGone)
        throw workspaceError('worktree-exists', `The worktree ${id} still exists. Remove it first.`)
      if (!isGone) await forgetKept(await repositoryOf(worktree), id)
      await this.#records.remove(id)
      return worktree
    })
  }

  /** Records the result of the set-up. Undefined: not started. */
  noteSetup(id: string, setup: SetupRecord | undefined): Promise<void> {
    return this.#queues.run(id, async () => {
      const { setup: _before, ...worktree } = await this.get(id)
      await this.#records.write(setup === undefined ? worktree : { ...worktree, setup })
    })
  }

  /** Values of variables in all other worktrees. */
  async takenValues(id: string): Promise<Set<string>> {
    const others = (await this.#records.all()).filter(other => other.id !== id)
    return new Set(others.flatMap(({ setup }) => Object.values(setup?.variables ?? {})))
  }

  /**
   * Finishes the work of killed processes. Called once at the start of a process; work of living processes, including
   * this one, is left alone. Resolves with the failures, which are tried again at the next start.
   */
  async recover(): Promise<{ id: string; error: unknown }[]> {
    const unfinished: { id: string; error: unknown }[] = []
    for (const record of await this.#records.all()) {
      const { id, state, setup } = record
      if (setup?.state === 'running') await this.#queues.run(id, () => this.#endSetup(id))
      if ((state !== 'making' && state !== 'removing') || (await isAtWork(record))) continue
      try {
        await this.#queues.run(id, () => this.#finish(id))
      } catch (error) {
        unfinished.push({ id, error })
      }
    }
    return unfinished
  }

  /** Ends the set-up of a killed process. Its turn is over, and the next one starts the set-up anew. */
  async #endSetup(id: string): Promise<void> {
    const record = await this.find(id)
    if (record?.setup?.state !== 'running' || (await isAtWork(record))) return
    await endMarked(setupMarker(id))
    const { setup: _setup, ...rest } = record
    await this.#records.write(rest)
  }

  async #finish(id: string): Promise<void> {
    await gitHasEnded(id)
    const worktree = await this.get(id)
    // Throws if the repository is gone: nothing could be kept, so nothing is touched.
    const repository = await repositoryOf(worktree)
    if (worktree.state === 'making') await this.#unmake(worktree, repository)
    if (worktree.state === 'removing') await this.#remove(worktree)
  }

  async #checkOut(worktree: Worktree, repository: GitRepository, commit: string): Promise<void> {
    await mkdir(path.dirname(worktree.folder), { recursive: true, mode: 0o700 })
    const add = ['worktree', 'add', '--quiet', '--no-track', '-b', worktree.branch, worktree.folder, commit]
    await git(repository, add, { timeoutMs: CHECKOUT_TIMEOUT_MS })
  }

  /** Undoes a complete or partial check-out. Work that was kept before stays kept. */
  async #unmake(worktree: Worktree, repository: GitRepository): Promise<void> {
    await this.#unregister(worktree, repository)
    await deleteBranch(repository, worktree.branch, worktree.kept?.head ?? worktree.base)
    await rm(this.#parent(worktree), { recursive: true, force: true })
    if (worktree.kept) await this.#records.write({ ...worktree, state: 'removed' })
    else await this.#records.remove(worktree.id)
  }

  async #remove(worktree: Worktree): Promise<KeptWork | undefined> {
    const repository = await repositoryOf(worktree)
    const removing: Worktree = { ...worktree, state: 'removing' }
    await this.#records.write(removing)
    const gone = `${this.#parent(worktree)}.gone`
    if (await exists(worktree.folder)) {
      removing.kept = await keepWork(worktree, await openWorktree(worktree, repository))
      await this.#records.write(removing)
      // One rename: a process killed from here on never leaves a worktree with half of its files.
      await rename(this.#parent(worktree), gone)
    } else if (!(await exists(gone))) {
      const kept = await keepBranch(worktree, repository)
      if (kept !== undefined) removing.kept = kept
      await this.#records.write(removing)
    }
    await this.#unregister(worktree, repository)
    const { kept } = removing
    if (kept) await deleteBranch(repository, worktree.branch, kept.head)
    await rm(gone, { recursive: true, force: true })
    await rm(this.#parent(worktree), { recursive: true, force: true })
    if (kept !== undefined && (kept.commits > 0 || kept.work !== undefined)) {
      await this.#records.write({ ...removing, state: 'removed' })
      return kept
    }
    await forgetKept(repository, worktree.id)
    await this.#records.remove(worktree.id)
    return undefined
  }

  /** Removes git's own record of the worktree. Forced twice, because an interrupted check-out leaves it locked. */
  async #unregister(worktree: Worktree, repository: GitRepository): Promise<void> {
    const listed = await git(repository, ['worktree', 'list', '--porcelain', '-z'])
    if (!listed.toString('utf8').split('\0').includes(`worktree ${worktree.folder}`)) return
    await git(repository, ['worktree', 'remove', '--force', '--force', worktree.folder], {
      timeoutMs: CHECKOUT_TIMEOUT_MS,
    })
  }

  #parent({ folder }: Worktree): string {
    return path.dirname(folder)
  }
}

async function conditionOf(worktree: Worktree): Promise<WorktreeCondition> {
  if (await isOrphaned(worktree)) return 'orphaned'
  if (worktree.state === 'removed') return 'removed'
  return (await exists(worktree.folder)) ? 'ready' : 'missing'
}

async function isOrphaned({ repository }: Worktree): Promise<boolean> {
  return !(await exists(path.join(repository, '.git')))
}

/** Deletes the branch unless it moved: a commit added since stays on it. */
async function deleteBranch(repository: GitRepository, branch: string, commit: string): Promise<void> {
  if ((await resolveCommit(repository, `refs/heads/${branch}`)) !== commit) return
  await git(repository, ['update-ref', '-d', `refs/heads/${branch}`, commit])
}

/** Marker of a worktree's set-up command and everything it starts. */
export const setupMarker = (id: string): string => `setup-${id}`

/** Waits for a git that outlived its server and still writes; killing it would leave its lock files. */
async function gitHasEnded(id: string): Promise<void> {
  while ((await findByMarker(worktreeMarker(id))).length > 0) await setTimeout(50)
}
