import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { errnoOf } from '@chirality/disk'
import type { Changes, MovedSubmodule } from '../git/changes.ts'
import { diffTrees, diffWorkTree } from '../git/diff-trees.ts'
import { findRepository } from '../git/find-repository.ts'
import type { GitRepository } from '../git/git.ts'
import { movedSubmodules, submodulesOfTurn } from '../git/moved-submodules.ts'
import { SNAPSHOT_LIMITS, type SnapshotLimits, takeSnapshot, trimSnapshots } from '../git/snapshot.ts'
import { HeldFolders } from './held-folders.ts'
import { ensureSnapshotFolder, type TreesOfTurn, TurnTrees } from './turn-trees.ts'
import { within } from './within.ts'

/** A turn whose agent has not received its message yet. */
export interface StartingTurn {
  sessionId: string
  turnId: string
  projectRoot: string
  /** The agent's folder: the project's, or the same folder in a worktree. */
  workFolder: string
  /** Aborted when the turn is stopped. */
  signal: AbortSignal
}

/** A turn whose agent is done and whose end is not announced yet. */
export interface EndingTurn extends Omit<StartingTurn, 'signal'> {
  /** Last event in the log so far. */
  lastSeq: number
  /** True if the agent may have finished while no host ran; changes since then are unknown. */
  isLate: boolean
}

/** The folder that a session works in. */
export interface SessionFolder {
  sessionId: string
  /** The project's folder. */
  root: string
  /** The same folder, or that in the session's worktree. */
  folder: string
}

export interface TurnChangesOptions extends Partial<SnapshotLimits> {
  /** How long the start or the end of a turn waits for its snapshot. */
  holdMs?: number
  /** False: turns leave no snapshots, so going back is not possible and no line is known to be an agent's. */
  records?: boolean
}

/** The changed files of projects and their worktrees, since the last commit and in each turn. */
export class TurnChanges {
  readonly #trees = new TurnTrees()
  readonly #pending = new Set<Promise<void>>()
  /** Snapshots that took too long or whose turn was stopped: their git is ended, and only `close` waits for them. */
  readonly #givenUp = new Set<Promise<unknown>>()
  readonly #limits: SnapshotLimits
  readonly #holdMs: number
  readonly #records: boolean
  /** Readers and writers of a project's snapshots: trimming waits until there are none. */
  readonly #users = new Map<string, { count: number; trimmed: Promise<void> }>()
  /** Uses of a project's snapshots that are left before their size is checked again. */
  readonly #untilTrim = new Map<string, number>()
  readonly #held = new HeldFolders()
  /** Turns since the last check of the snapshots' size, by project. */
  readonly #turns = new Map<string, number>()

  constructor({ holdMs = HOLD_MS, records = true, ...limits }: TurnChangesOptions = {}) {
    this.#limits = { ...SNAPSHOT_LIMITS, ...limits }
    this.#holdMs = holdMs
    this.#records = records
  }

  /** Waits for work in the background. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#pending, ...this.#givenUp])
  }

  /** Changes in the project's folder, or in a worktree of it. Null without a git repository. */
  async workingTree(root: string, folder = root): Promise<Changes | null> {
    const repository = await findRepository(folder)
    if (repository === undefined) return null
    return this.#using(root, repository, stateFolder => diffWorkTree(repository, stateFolder, this.#limits))
  }

  /**
   * The changes of a turn, from the files before and after it. Undefined if they are not stored. Uses the project's
   * repository, which has the objects of its worktrees too, because a worktree may be gone.
   */
  async ofTurn(
    { sessionId, root, folder }: SessionFolder,
    { turnId, isRunning }: { turnId: string; isRunning: boolean },
  ): Promise<Changes | undefined> {
    await Promise.allSettled(this.#pending)
    const repository = await findRepository(root)
    if (repository === undefined) return undefined
    return this.#using(root, repository, async stateFolder => {
      const trees = await this.#trees.read(root, sessionId, turnId)
      if (trees === undefined) return undefined
      // The current files may have been changed by anybody.
      if (trees.after === undefined && !isRunning) return undefined
      const end =
        trees.after === undefined
          ? await this.#snapshot({ root, folder })
          : { tree: trees.after, submodules: trees.afterSubmodules ?? [] }
      if (end === undefined) return undefined
      const { submodules: named = [], ...changes } = await diffTrees(repository, {
        from: trees.before,
        to: end.tree,
        stateFolder,
      })
      const before = trees.beforeSubmodules ?? []
      const submodules = submodulesOfTurn({ named, before, after: end.submodules })
      return submodules.length === 0 ? changes : { ...changes, submodules }
    })
  }

  /** See `HeldFolders.hold()`. */
  hold<T>(folders: readonly string[], check: () => void, work: () => Promise<T>): Promise<T> {
    return this.#held.hold(folders, check, work)
  }

  /** Runs `work` on the changes of a session. Undefined without a git repository. */
  async inWorkFolder<T>(
    { sessionId, root, folder }: SessionFolder,
    work: (place: WorkPlace) => Promise<T>,
  ): Promise<T | undefined> {
    await Promise.allSettled(this.#pending)
    const repository = await findRepository(folder)
    if (repository === undefined) return undefined
    return this.#using(root, repository, async stateFolder =>
      work({
        folder,
        repository,
        stateFolder,
        turns: await this.#trees.all(root, sessionId),
        snapshot: async () => (await takeSnapshot(repository, stateFolder, this.#limits)).tree,
        adoptTurns: (other, trees) => this.#trees.adopt(root, other, trees),
      }),
    )
  }

  /** Runs `work` on the states of all turns in a folder of a project. Undefined without a git repository. */
  async inFolder<T>(
    { root, folder }: ProjectFolder,
    work: (place: { repository: GitRepository; stateFolder: string; trees: TurnTrees }) => Promise<T>,
  ): Promise<T | undefined> {
    await Promise.allSettled(this.#pending)
    const repository = await findRepository(folder)
    if (repository === undefined) return undefined
    const use = (stateFolder: string) => work({ repository, stateFolder, trees: this.#trees })
    return this.#using(root, repository, use, { trims: false })
  }

  /** Removes the records of a deleted session. */
  async forget(root: string, sessionId: string): Promise<void> {
    await this.#trees.remove(root, sessionId)
  }

  /**
   * Records the files before a turn. The agent starts afterwards, so that its first edit is not included. `ready` is
   * awaited before the files are read, so that the worktree's set-up is included. Resolves with a warning for the
   * conversation.
   */
  async begin(
    { sessionId, turnId, projectRoot: root, workFolder: folder, signal }: StartingTurn,
    ready: () => Promise<void> = async () => {},
  ): Promise<string | undefined> {
    await this.#held.free(folder, signal)
    const take = async (reading: AbortSignal) => {
      await ready()
      return this.#records ? this.#snapshot({ root, folder }, reading) : undefined
    }
    const waited = await this.#inTime(take, signal)
    if (waited === 'late') return `Reading the files took too long, ${NOT_KEPT}`
    if (waited === 'failed') return `Reading the files failed, ${NOT_KEPT}`
    if (waited === undefined || waited === 'stopped') return undefined
    const begun = { sessionId, turnId, when: 'before', ...waited, at: Date.now() } as const
    return this.#trees.write(root, begun).then(
      () => undefined,
      () => `Recording the files failed, ${NOT_KEPT}`,
    )
  }

  /**
   * Records the files after a turn. The end is announced afterwards, so that a person's next edits are not included.
   * Resolves with a warning for the conversation.
   */
  async end(turn: EndingTurn): Promise<string | undefined> {
    const { sessionId, turnId, projectRoot: root, workFolder, lastSeq: endSeq, isLate } = turn
    const known = await this.#trees.read(root, sessionId, turnId).catch(() => 'unread' as const)
    if (known === 'unread') return `Reading the record of the files failed, ${END_NOT_KEPT}`
    // The state after a turn is useless without the one before. It exists already if a host was killed right after
    // recording it.
    if (known === undefined || known.after !== undefined) return undefined
    const waited = await this.#inTime(reading => this.#snapshot({ root, folder: workFolder }, reading))
    this.#trimSometimes(root, workFolder)
    if (waited === 'late') return `Reading the files took too long, ${END_NOT_KEPT}`
    if (waited === undefined || typeof waited === 'string') return `Reading the files failed, ${END_NOT_KEPT}`
    const ended = { sessionId, turnId, when: 'after', ...waited, at: Date.now(), endSeq, isLate } as const
    return this.#trees.write(root, ended).then(
      () => undefined,
      () => `Recording the files failed, ${END_NOT_KEPT}`,
    )
  }

  /** Trims in the background of every tenth turn; only the next turn in the project may have to wait. */
  #trimSometimes(root: string, folder: string): void {
    // A random start gives a process with one turn the same chance as one with many.
    const turns = this.#turns.get(root) ?? Math.floor(Math.random() * TURNS_BETWEEN_TRIMS)
    this.#turns.set(root, turns + 1)
    if (turns % TURNS_BETWEEN_TRIMS !== 0) return
    const trim = async () => {
      const repository = await findRepository(folder)
      if (repository !== undefined) await this.#using(root, repository, async () => {})
    }
    const work: Promise<void> = trim()
      .catch(() => {})
      .finally(() => this.#pending.delete(work))
    this.#pending.add(work)
  }

  /** Waits for a snapshot at most `holdMs`, and ends its git when nobody waits for it any more. */
  async #inTime(
    take: (reading: AbortSignal) => Promise<Recorded | undefined>,
    signal?: AbortSignal,
  ): ReturnType<typeof within<Recorded | undefined>> {
    const reading = new AbortController()
    const taken = take(reading.signal)
    const waited = await within(taken, { ms: this.#holdMs, signal })
    if (waited === 'late' || waited === 'stopped') {
      reading.abort()
      const over = taken.catch(() => {}).finally(() => this.#givenUp.delete(over))
      this.#givenUp.add(over)
    }
    return waited
  }

  async #snapshot({ root, folder }: ProjectFolder, signal?: AbortSignal): Promise<Recorded | undefined> {
    const found = await findRepository(folder)
    if (found === undefined || signal?.aborted) return undefined
    const repository: GitRepository = { ...found, signal: signal ?? found.signal }
    const take = async (stateFolder: string): Promise<Recorded> => {
      const { tree } = await takeSnapshot(repository, stateFolder, this.#limits)
      // The snapshot is kept even if the submodules cannot be read.
      const submodules = await movedSubmodules(repository).catch(() => [])
      return { tree, submodules }
    }
    return this.#using(root, repository, take, { trims: false })
  }

  async #using<T>(
    root: string,
    repository: GitRepository,
    work: (stateFolder: string) => Promise<T>,
    { trims = true } = {},
  ): Promise<T> {
    const stateFolder = await stateFolderOf(root)
    const users = this.#users.get(root) ?? {
      count: 0,
      trimmed: trims ? this.#trim(root, repository, stateFolder) : Promise.resolve(),
    }
    users.count += 1
    this.#users.set(root, users)
    try {
      await users.trimmed
      return await work(stateFolder)
    } finally {
      users.count -= 1
      if (users.count === 0) this.#users.delete(root)
    }
  }

  /**
   * Checks the size rarely when there are many objects: git counts them one by one, and a turn must not slow down after
   * many others.
   */
  async #trim(root: string, repository: GitRepository, stateFolder: string): Promise<void> {
    const left = this.#untilTrim.get(root) ?? 0
    this.#untilTrim.set(root, left - 1)
    if (left > 0) return
    const objects = await trimSnapshots(repository, stateFolder, this.#limits)
    this.#untilTrim.set(root, Math.floor(objects / COUNTED_AT_ONCE))
  }
}

/** Number of objects that git counts in about the time of its own start. */
const COUNTED_AT_ONCE = 200
/** A check costs two git processes, so most turns skip it. */
const TURNS_BETWEEN_TRIMS = 10

/** The files at the start or the end of a turn, and the submodules at another commit than the tree names. */
interface Recorded {
  tree: string
  submodules: MovedSubmodule[]
}

export type ProjectFolder = Omit<SessionFolder, 'sessionId'>

/** A repository on a slow disk must not hold a turn for ever. */
const HOLD_MS = 30_000
const NOT_KEPT =
  'so their state before this turn is not stored: its changes are those that the agent reports, and going back to it is not possible.'
const END_NOT_KEPT =
  'so their state after this turn is not stored: its changes are those that the agent reports, and going back does not undo them.'

/** A session's work folder with the states of its files. */
export interface WorkPlace {
  folder: string
  repository: GitRepository
  stateFolder: string
  /** Trees of its turns, oldest first. */
  turns: ReadonlyMap<string, TreesOfTurn>
  /** Resolves with the tree of the current files. */
  snapshot(): Promise<string>
  adoptTurns(sessionId: string, trees: ReadonlyMap<string, TreesOfTurn>): Promise<void>
}

/** Makes the folder of a project's snapshots, and lets git ignore it. */
export async function stateFolderOf(root: string): Promise<string> {
  const folder = await ensureSnapshotFolder(root)
  const ignore = path.join(root, '.chirality', '.gitignore')
  await writeFile(ignore, '*\n', { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    if (errnoOf(error) !== 'EEXIST') throw error
  })
  return folder
}
