import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Cost, roundUsd } from '@chirality/core'
import {
  changeFile,
  ensurePrivateDirectory,
  type FileOps,
  readSmallFile,
  realFileOps,
  StorageError,
  setAside,
  toStorageError,
  withStorageErrors,
  writeFileAtomic,
} from '@chirality/disk'
import { ensureProjectFolder, findProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import { userDataFolder } from '../files/user-data-folder.ts'
import { parseObject } from '../store/stored-session.ts'
import { type BudgetState, initialBudget, MINUTE_MS, mergeBudgets, parseBudget } from './budget-state.ts'

export interface BudgetBookOptions {
  /** The user's data folder. Default: `CHIRALITY_HOME`, or the platform's default. */
  home?: string
  ops?: FileOps
}

export interface BudgetReading {
  state: BudgetState
  /** The unreadable file and the fallback that is used, for the user. */
  problem?: string
}

/** The money, tokens and duration of turns. The duration excludes waiting for the user. */
export interface Spending extends Pick<Cost, 'usd' | 'tokens' | 'unpricedTokens'> {
  ms: number
}

/**
 * The spending and limits of each project: `state/budget.json` in the project, and a copy in the user's data folder,
 * because agents can delete or change a project's files. Sums never fall, and the lower of two limits applies, so a
 * project's file can only narrow them. An unreadable file never removes a limit.
 */
export class BudgetBook {
  readonly #home: string
  readonly #ops: FileOps
  /** The last state read or written, used when both files become unreadable while turns run. */
  readonly #known = new Map<string, BudgetState>()

  constructor({ home, ops = realFileOps }: BudgetBookOptions = {}) {
    this.#home = home ?? userDataFolder()
    this.#ops = ops
  }

  /** Throws a StorageError when the limits of the project cannot be read. */
  async read(projectRoot: string): Promise<BudgetReading> {
    const root = realProjectRoot(projectRoot)
    const reading = this.#merge(root, await this.#load(root))
    this.#known.set(root, reading.state)
    return reading
  }

  /** The state in memory, without reading the files. */
  lastKnown(projectRoot: string): BudgetState | undefined {
    return this.#known.get(projectRoot)
  }

  /** Reads, changes and writes the state, one update at a time. */
  update(projectRoot: string, change: (state: BudgetState) => BudgetState): Promise<BudgetState> {
    const root = realProjectRoot(projectRoot)
    return this.#alone(root, async () => {
      const files = await this.#load(root)
      return this.#write(root, change(this.#merge(root, files).state), files)
    })
  }

  /** Sets the user's limits: null is no limit, an absent field stays unchanged. Also repairs two unreadable files. */
  setLimits(projectRoot: string, limits: Partial<BudgetState>): Promise<BudgetState> {
    const root = realProjectRoot(projectRoot)
    return this.#alone(root, async () => {
      const files = await this.#load(root)
      const state = isUnknown(files)
        ? (this.#known.get(root) ?? initialBudget())
        : this.#merge(root, files).state
      return this.#write(root, { ...state, ...limits }, files)
    })
  }

  /**
   * Adds a finished turn or run, once even if it is reported twice, as can happen after a crash. `iterations: 0` adds
   * spending between turns.
   */
  count(
    projectRoot: string,
    id: string,
    spent: Spending,
    { iterations = 1 }: { iterations?: 0 | 1 } = {},
  ): Promise<BudgetState> {
    return this.update(projectRoot, state => {
      const turns = state.counted_turns ?? []
      if (turns.includes(id)) return state
      return {
        ...state,
        total_cost_usd: roundUsd(state.total_cost_usd + (spent.usd ?? 0)),
        total_tokens: state.total_tokens + spent.tokens,
        unpriced_tokens: state.unpriced_tokens + spent.unpricedTokens,
        total_minutes: roundMinutes(state.total_minutes + spent.ms / MINUTE_MS),
        iterations: state.iterations + iterations,
        counted_turns: [...turns, id].slice(-MAX_COUNTED),
      }
    })
  }

  /** Serializes updates, also between processes: a server, and a program that counts its own runs. */
  #alone<T>(root: string, work: () => Promise<T>): Promise<T> {
    const copy = this.#copyPath(root)
    return withStorageErrors(copy, async () => {
      await mkdir(dirname(this.#home), { recursive: true })
      await ensurePrivateDirectory(this.#home)
      await ensurePrivateDirectory(dirname(copy))
      return changeFile(copy, work, { ops: this.#ops })
    })
  }

  async #load(root: string): Promise<Files> {
    const folder = await findProjectFolder(root, STATE_FOLDER)
    const path = folder && join(folder, NAME)
    const own = path === undefined ? MISSING : this.#loadFile(path)
    return { own, copy: this.#loadFile(this.#copyPath(root)) }
  }

  #loadFile(path: string): Loaded {
    try {
      const stats = this.#ops.lstat(path)
      if (stats === undefined) return { ...MISSING, path }
      const text = stats.isFile() ? readSmallFile(this.#ops, path, MAX_BYTES) : undefined
      const value = text && parseObject(text.toString('utf8'))
      const state = value && parseBudget(value)
      return state === undefined ? { kind: 'spoilt', path } : { kind: 'read', path, state }
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  #merge(root: string, files: Files): BudgetReading {
    const { own, copy } = files
    const known = this.#known.get(root)
    if (isUnknown(files) && known === undefined) throw unknownLimits(files)
    const states = [own, copy].flatMap(file => (file.kind === 'read' ? [file.state] : []))
    const state = mergeBudgets(states.length > 0 ? states : [known ?? initialBudget()])
    const spoilt = [own, copy].find(file => file.kind === 'spoilt')
    if (spoilt === undefined) return { state }
    const problem = `${spoilt.path} cannot be read. The limits and sums that are known from elsewhere count.`
    return { state, problem }
  }

  async #write(root: string, state: BudgetState, { own, copy }: Files): Promise<BudgetState> {
    const text = `${JSON.stringify(state, null, 2)}\n`
    const path = join(await ensureProjectFolder(root, STATE_FOLDER), NAME)
    const copyPath = this.#copyPath(root)
    try {
      for (const file of [own, copy]) if (file.kind === 'spoilt') setAside(file.path, 'corrupt', this.#ops)
      // The copy is written first: what only the copy holds counts as well.
      await writeFileAtomic(copyPath, `${JSON.stringify({ projectRoot: root, ...state })}\n`, {
        ops: this.#ops,
      })
      await writeFileAtomic(path, text, { ops: this.#ops })
    } catch (error) {
      throw toStorageError(error, path)
    }
    this.#known.set(root, state)
    return state
  }

  #copyPath(root: string): string {
    return join(this.#home, 'budgets', `${createHash('sha256').update(root).digest('hex').slice(0, 32)}.json`)
  }
}

type Loaded =
  | { kind: 'missing'; path: string }
  | { kind: 'spoilt'; path: string }
  | { kind: 'read'; path: string; state: BudgetState }

interface Files {
  own: Loaded
  copy: Loaded
}

/** Rounds to a millisecond, because sums of small fractions drift. */
function roundMinutes(minutes: number): number {
  return Math.round(minutes * MINUTE_MS) / MINUTE_MS
}

const MISSING: Loaded = { kind: 'missing', path: '' }
const STATE_FOLDER = 'state'
const NAME = 'budget.json'
const MAX_BYTES = 1024 * 1024
/** More than can be uncertain after a crash: one turn per running session. */
const MAX_COUNTED = 200

/** Files exist, but none could be read. */
function isUnknown({ own, copy }: Files): boolean {
  return own.kind !== 'read' && copy.kind !== 'read' && (own.kind === 'spoilt' || copy.kind === 'spoilt')
}

function unknownLimits({ own, copy }: Files): StorageError {
  const { path } = own.kind === 'spoilt' ? own : copy
  const message = `${path} cannot be read, so it is not known what the project may spend. Set its limits again with "chirality budget set", or remove the file to go on without any.`
  return new StorageError('io', path, message)
}
