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
import { exists, marked, markerOf, openWorktree, repositoryOf } from './worktree-repository.ts'

export interface NewWorktree {
  projectRoot: string
  /** Words for the branch: `chirality/<slug>`. */
  title: string
  /** A branch, tag or commit. Default: what is checked out in the project. */
  base?: string | undefined
  /** The branch that its work goes to. Default: `base`, or what is checked out, if that is a branch. */
  baseBranch?: string | null | undefined
  /** An id of the caller's, by which it finds the worktree again after a crash. */
  id?: string | undefined
}

export interface MadeWorktree {
  worktree: Worktree
  base: Base
}

export type WorktreeCondition =
  | 'ready'
  /** Somebody else removed the folder. Its commits are still on the branch. */
  | 'missing'
  /** The repository it belongs to is gone or was moved. */
  | 'orphaned'
  /** Removed; what it had is kept. */
  | 'removed'

export interface ListedWorktree extends Worktree {
  condition: WorktreeCondition
}

/** The folder of the project that a worktree was made from. */
export function projectOf({ repository, prefix }: Pick<Worktree, 'repository' | 'prefix'>): string {
  return path.join(repository, prefix)
}

/**
 * The worktrees that sessions work in. They are outside the project, in the user's data folder, and outlive the server.
 * Removing one never loses work: see `keepWork()`.
 */
export class Worktrees {
  readonly #records: WorktreeRecords
  /** One at a time for each worktree. */
  readonly #queues = new KeyedQueue()

  /** `folder` belongs to this class alone. */
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

  /** Throws if an agent cannot work in it now, and says what to do. */
  async require(id: string): Promise<void> {
    const { folder, state } = await this.get(id)
    if (state === 'ready' && (await exists(folder))) return
    throw workspaceError(
      'worktree-missing',
      `The worktree ${folder} of this session is not there. Restore it: chirality worktrees restore ${id}`,
    )
  }

  /**
   * Throws as well if its folder is not a work tree of its repository any more. Git would look for one in the folders
   * above, and what is done there is done to the files of another repository.
   */
  async requireOwn(id: string): Promise<void> {
    await this.require(id)
    const worktree = await this.get(id)
    await openWorktree(worktree, await repositoryOf(worktree))
  }

  /** Whether all that it has is elsewhere, too: no commit, and no changed or new file that is not ignored, is only there. */
  async isClean(id: string): Promise<boolean> {
    const worktree = await this.get(id)
    if ((await conditionOf(worktree)) !== 'ready') return false
    return !(await hasOwnWork(worktree, await openWorktree(worktree, await repositoryOf(worktree))))
  }

  /** Removes the folder and the branch. Resolves with what is kept of them; undefined if all of it is elsewhere too. */
  remove(id: string): Promise<KeptWork | undefined> {
    return this.#queues.run(id, async () => {
      const worktree = await this.get(id)
      return worktree.state === 'removed' ? worktree.kept : this.#remove(worktree)
    })
  }

  /**
   * Makes a worktree of work that another machine packed. Called again with the same id after a crash, it goes on. The
   * work is kept from the moment that its commits are here, whatever happens to the folder.
   */
  async receive(received: ReceivedWork): Promise<Worktree> {
    requireId(received.id)
    if ((await this.find(received.id)) === undefined)
      await this.#records.write(await takeWork(received, this.#records.folder))
    return this.restore(received.id)
  }

  /** Makes a removed or missing worktree again, with its branch, its files and what was staged. */
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
   * Removes the record and the refs of a removed worktree: what was kept is given up. Also the record of one whose
   * repository is gone; its files stay where they are.
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

  /** Remembers what became of the set-up. Undefined: it has not been begun. */
  noteSetup(id: string, setup: SetupRecord | undefined): Promise<void> {
    return this.#queues.run(id, async () => {
      const { setup: _before, ...worktree } = await this.get(id)
      await this.#records.write(setup === undefined ? worktree : { ...worktree, setup })
    })
  }

  /** The values of variables in all other worktrees. */
  async takenValues(id: string): Promise<Set<string>> {
    const others = (await this.#records.all()).filter(other => other.id !== id)
    return new Set(others.flatMap(({ setup }) => Object.values(setup?.variables ?? {})))
  }

  /**
   * Finishes what a process that was killed began. Called once, when a process begins; what a living process, this one
   * too, is making, removing or setting up is left to it. Resolves with what could not be finished: it is left as it is,
   * and tried again next time.
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

  /** Without its process the turn that it belonged to is over; the next one begins anew. */
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
    // Without its repository nothing of it can be kept: this throws, and nothing is touched.
    const repository = await repositoryOf(worktree)
    if (worktree.state === 'making') await this.#unmake(worktree, repository)
    if (worktree.state === 'removing') await this.#remove(worktree)
  }

  async #checkOut(worktree: Worktree, repository: GitRepository, commit: string): Promise<void> {
    await mkdir(path.dirname(worktree.folder), { recursive: true, mode: 0o700 })
    const add = ['worktree', 'add', '--quiet', '--no-track', '-b', worktree.branch, worktree.folder, commit]
    await git(repository, add, { timeoutMs: CHECKOUT_TIMEOUT_MS })
  }

  /** Undoes a check-out, whole or in part. What was kept before stays kept. */
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
      // In one step: a process that is killed from here on leaves no worktree with half of its files.
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

  /** Git's own record of the worktree. Twice forced: also one that is locked because its check-out was cut short. */
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

/** Only while it is where it was left: a commit that somebody added since stays on its branch. */
async function deleteBranch(repository: GitRepository, branch: string, commit: string): Promise<void> {
  if ((await resolveCommit(repository, `refs/heads/${branch}`)) !== commit) return
  await git(repository, ['update-ref', '-d', `refs/heads/${branch}`, commit])
}

/** Of the set-up command of a worktree, and of everything it starts. */
export const setupMarker = (id: string): string => `setup-${id}`

/** A git that outlived its server still writes: it is waited for, because killing it would leave its lock files. */
async function gitHasEnded(id: string): Promise<void> {
  while ((await findByMarker(markerOf(id))).length > 0) await setTimeout(50)
}
