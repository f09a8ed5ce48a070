import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ensurePrivateDirectory, errnoOf } from '@chirality/runner'
import type { LiveSession, SessionHost, SessionStatus, StartingTurn } from '@chirality/sessions'
import {
  type Changes,
  diffTrees,
  diffWorkTree,
  findRepository,
  type GitRepository,
  headTree,
  type MovedSubmodule,
  movedSubmodules,
  SNAPSHOT_LIMITS,
  type SnapshotLimits,
  submodulesOfTurn,
  takeSnapshot,
  trimSnapshots,
} from '@chirality/workspaces'
import type { TurnDiff } from '../contract/file-answers.ts'
import { callError } from '../errors/call-error.ts'
import { changesFromTools } from './changes-from-tools.ts'
import { type TreesOfTurn, TurnTrees } from './turn-trees.ts'

/** The changed files of a project or of a worktree of it: since the last commit, and in each turn. */
export class TurnChanges {
  readonly #trees = new TurnTrees()
  readonly #running = new Map<string, string>()
  readonly #pending = new Set<Promise<void>>()
  /** Snapshots of the ends of turns that are being made, by session. */
  readonly #ending = new Map<string, Promise<Recorded | undefined>>()
  readonly #limits: SnapshotLimits
  readonly #holdMs: number
  /** The number of readers and writers of a project's snapshots: they are trimmed only when there are none. */
  readonly #users = new Map<string, { count: number; trimmed: Promise<void> }>()
  /** How often the snapshots of a project can be used before their size is asked for again. */
  readonly #untilTrim = new Map<string, number>()
  /** Folders whose files a person changes now through a review, until that is over. */
  readonly #held = new Map<string, Promise<void>>()
  /** How many turns have ended, by project. */
  readonly #turns = new Map<string, number>()
  #stop: () => void = () => {}
  #ready: (projectRoot: string) => Promise<void> = async () => {}

  constructor({ holdMs = HOLD_MS, ...limits }: Partial<SnapshotLimits> & { holdMs?: number } = {}) {
    this.#limits = { ...SNAPSHOT_LIMITS, ...limits }
    this.#holdMs = holdMs
  }

  /**
   * Records a snapshot before a turn of any session begins and when it ends. `ready` is waited for before the first: the
   * files of the project are as they shall be then.
   */
  watch(
    host: Pick<SessionHost, 'onStatus' | 'beforeTurns'>,
    ready: (projectRoot: string) => Promise<void> = async () => {},
  ): void {
    this.#ready = ready
    const stops = [host.onStatus(status => this.#see(status)), host.beforeTurns(turn => this.#before(turn))]
    this.#stop = () => {
      for (const stop of stops) stop()
    }
  }

  /** Waits for snapshots that are being made. */
  async close(): Promise<void> {
    this.#stop()
    await Promise.allSettled(this.#pending)
  }

  /** In the project's folder, or in a worktree of it. Null if there is no git repository. */
  async workingTree(root: string, folder = root): Promise<Changes | null> {
    const repository = await findRepository(folder)
    if (repository === undefined) return null
    return this.#using(root, repository, stateFolder => diffWorkTree(repository, stateFolder, this.#limits))
  }

  async turn(session: LiveSession, turnId: string): Promise<TurnDiff> {
    await Promise.allSettled(this.#pending)
    const changes = await this.#changesByTrees(session, turnId)
    if (changes !== undefined) return { ...changes, source: 'git' }
    const told = changesFromTools(session.log, turnId, workFolderOf(session.status))
    if (told !== undefined) return { ...told, source: 'tools' }
    throw callError('turn-missing', `Session ${session.id} has no turn ${turnId}.`)
  }

  /**
   * Runs `work` while no turn begins in these folders and nobody else holds one of them. `check` is called right before,
   * and throws if an agent is at work there already: a turn counts as begun before it comes to wait in `#before()`.
   */
  async hold<T>(folders: readonly string[], check: () => void, work: () => Promise<T>): Promise<T> {
    for (;;) {
      const held = folders.map(folder => this.#held.get(folder)).find(Boolean)
      if (held === undefined) break
      await held
    }
    check()
    let release = () => {}
    const over = new Promise<void>(resolve => {
      release = resolve
    })
    for (const folder of folders) this.#held.set(folder, over)
    try {
      return await work()
    } finally {
      for (const folder of folders) this.#held.delete(folder)
      release()
    }
  }

  /** For work on what a session changed. Undefined if there is no git repository. */
  async inWorkFolder<T>(
    { id, status }: Pick<LiveSession, 'id' | 'status'>,
    work: (place: WorkPlace) => Promise<T>,
  ): Promise<T | undefined> {
    await Promise.allSettled(this.#pending)
    const { projectRoot } = status
    const folder = workFolderOf(status)
    const repository = await findRepository(folder)
    if (repository === undefined) return undefined
    return this.#using(projectRoot, repository, async stateFolder =>
      work({
        ...{ folder, repository, stateFolder },
        turns: await this.#trees.all(projectRoot, id),
        snapshot: async () => (await takeSnapshot(repository, stateFolder, this.#limits)).tree,
        adoptTurns: (sessionId, trees) => this.#trees.adopt(projectRoot, sessionId, trees),
      }),
    )
  }

  /** For work on the states of all turns in a folder of a project. Undefined if there is no git repository. */
  async inFolder<T>(
    { root, folder }: Place,
    work: (place: { repository: GitRepository; stateFolder: string; trees: TurnTrees }) => Promise<T>,
  ): Promise<T | undefined> {
    await Promise.allSettled(this.#pending)
    const repository = await findRepository(folder)
    if (repository === undefined) return undefined
    const use = (stateFolder: string) => work({ repository, stateFolder, trees: this.#trees })
    return this.#using(root, repository, use, { trims: false })
  }

  /** For a session that was deleted. */
  async forget(root: string, sessionId: string): Promise<void> {
    this.#running.delete(sessionId)
    await this.#trees.remove(root, sessionId)
  }

  /** The agent waits for this, so that its first edit is not in it. */
  async #before({
    sessionId,
    turnId,
    projectRoot,
    workFolder,
    signal,
  }: StartingTurn): Promise<string | undefined> {
    this.#running.set(sessionId, turnId)
    const place = { root: projectRoot, folder: workFolder }
    // A review that is under way has its own limits of time; a turn that is stopped does not wait for it.
    for (let held = this.#held.get(workFolder); held && !signal.aborted; held = this.#held.get(workFolder))
      await within(held, { signal })
    // Nothing of this session has changed since its last turn ended, if that is still being recorded.
    const fresh = async () => {
      await this.#ready(projectRoot)
      return this.#snapshot(place, { trims: false })
    }
    const taken = this.#ending.get(sessionId) ?? fresh()
    const waited = await within(taken, { ms: this.#holdMs, signal })
    if (waited === 'late') return `Reading the files took too long, ${NOT_KEPT}`
    if (waited === 'failed') return `Reading the files failed, ${NOT_KEPT}`
    if (waited !== undefined && waited !== 'stopped')
      await this.#trees.write(projectRoot, {
        ...{ sessionId, turnId, when: 'before', ...waited, at: Date.now() },
      })
    return undefined
  }

  #see(status: SessionStatus): void {
    const { sessionId, turnId, phase } = status
    const running = this.#running.get(sessionId)
    // One that another server began: the files before it were recorded there.
    if (turnId !== null && running === undefined && phase !== 'idle') this.#running.set(sessionId, turnId)
    if (running === undefined || phase !== 'idle') return
    this.#running.delete(sessionId)
    this.#after(status, running)
  }

  #after(status: SessionStatus, turnId: string): void {
    const { sessionId, projectRoot: root, lastSeq: endSeq } = status
    const at = Date.now()
    const turns = this.#turns.get(root) ?? 0
    this.#turns.set(root, turns + 1)
    const trims = turns % TURNS_BETWEEN_TRIMS === 0
    const taken = this.#snapshot({ root, folder: workFolderOf(status) }, { trims })
    this.#ending.set(sessionId, taken)
    const work = taken
      .then(async recorded => {
        if (recorded !== undefined)
          await this.#trees.write(root, { sessionId, turnId, when: 'after', ...recorded, at, endSeq })
      })
      // If a snapshot fails, the tools' reports are used.
      .catch(() => {})
      .finally(() => {
        this.#pending.delete(work)
        if (this.#ending.get(sessionId) === taken) this.#ending.delete(sessionId)
      })
    this.#pending.add(work)
  }

  async #snapshot({ root, folder }: Place, { trims }: { trims: boolean }): Promise<Recorded | undefined> {
    const repository: GitRepository | undefined = await findRepository(folder)
    if (repository === undefined) return undefined
    const take = async (stateFolder: string): Promise<Recorded> => {
      const { tree } = await takeSnapshot(repository, stateFolder, this.#limits)
      // The files are worth more than what is said of submodules.
      const submodules = await movedSubmodules(repository, await headTree(repository)).catch(() => [])
      return { tree, submodules }
    }
    return this.#using(root, repository, take, { trims })
  }

  /** In the project's repository, which has the objects of its worktrees too: a worktree may be gone by now. */
  async #changesByTrees({ id, status }: LiveSession, turnId: string): Promise<Changes | undefined> {
    const root = status.projectRoot
    const repository = await findRepository(root)
    if (repository === undefined) return undefined
    return this.#using(root, repository, async stateFolder => {
      const trees = await this.#trees.read(root, id, turnId)
      if (trees === undefined) return undefined
      const place = { root, folder: workFolderOf(status) }
      const end =
        trees.after === undefined
          ? await this.#snapshot(place, { trims: false })
          : { tree: trees.after, submodules: trees.afterSubmodules ?? [] }
      if (end === undefined) return undefined
      const { submodules: named = [], ...changes } = await diffTrees(repository, {
        ...{ from: trees.before, to: end.tree, stateFolder },
      })
      const before = trees.beforeSubmodules ?? []
      const submodules = submodulesOfTurn({ named, before, after: end.submodules })
      return submodules.length === 0 ? changes : { ...changes, submodules }
    })
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

  /** Git counts objects one by one, so that many are counted seldom: a turn must not take longer after many others. */
  async #trim(root: string, repository: GitRepository, stateFolder: string): Promise<void> {
    const left = this.#untilTrim.get(root) ?? 0
    this.#untilTrim.set(root, left - 1)
    if (left > 0) return
    const objects = await trimSnapshots(repository, stateFolder, this.#limits)
    this.#untilTrim.set(root, Math.floor(objects / COUNTED_AT_ONCE))
  }
}

/** Objects that are counted in about the time that git needs to begin. */
const COUNTED_AT_ONCE = 200
/** The first turn in a project looks at their size, and then few: it is one git more for each. */
const TURNS_BETWEEN_TRIMS = 10

/** The files at the beginning or the end of a turn, and the submodules that are at another commit than the tree names. */
interface Recorded {
  tree: string
  submodules: MovedSubmodule[]
}

export interface Place {
  root: string
  folder: string
}

/** A repository on a slow disk must not hold a turn forever. */
const HOLD_MS = 30_000
const NOT_KEPT =
  'so they are not kept as they were before this turn: its changes are those that the agent reports, and it cannot be gone back to.'

function within<T>(
  work: Promise<T>,
  { ms, signal }: { ms?: number; signal: AbortSignal },
): Promise<T | 'late' | 'stopped' | 'failed'> {
  return new Promise(resolve => {
    const timer = ms === undefined ? undefined : setTimeout(() => resolve('late'), ms)
    const stop = () => resolve('stopped')
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    work
      .then(resolve, () => resolve('failed'))
      .finally(() => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
      })
  })
}

/** Where the agent works: the project's folder, or the same folder in a worktree. */
export function workFolderOf({ projectRoot, worktree }: SessionStatus): string {
  return worktree?.folder ?? projectRoot
}

/** Where a session works, and the states of its files. */
export interface WorkPlace {
  folder: string
  repository: GitRepository
  stateFolder: string
  /** The trees of its turns, oldest first. */
  turns: ReadonlyMap<string, TreesOfTurn>
  /** The tree of the files now. */
  snapshot(): Promise<string>
  adoptTurns(sessionId: string, trees: ReadonlyMap<string, TreesOfTurn>): Promise<void>
}

/** In `.chirality` of the project, and ignored by git: a snapshot must not contain itself. */
export async function stateFolderOf(root: string): Promise<string> {
  let folder = root
  for (const part of ['.chirality', 'state', 'snapshots']) {
    folder = path.join(folder, part)
    await ensurePrivateDirectory(folder)
  }
  const ignore = path.join(root, '.chirality', '.gitignore')
  await writeFile(ignore, '*\n', { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    if (errnoOf(error) !== 'EEXIST') throw error
  })
  return folder
}
