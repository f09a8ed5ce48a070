import { rm } from 'node:fs/promises'
import path from 'node:path'
import { ensurePrivateDirectory, errnoOf, OneAfterTheOther, writeFileAtomic } from '@chirality/disk'
import type { MovedSubmodule } from '../git/changes.ts'
import { readStateFile } from '../git/state-file.ts'

/** The project's files at the start and the end of a turn, as git trees. */
export interface TreesOfTurn {
  before: string
  /** Undefined while the turn runs. */
  after?: string
  /** Times of recording, in milliseconds since 1970. Missing in older records. */
  beforeAt?: number
  afterAt?: number
  /** Last event of the log before the end of the turn. */
  endSeq?: number
  /** Recorded late, after a time without a server: `after` may include changes by others. */
  isLate?: true
  /** Submodules at another commit than the tree names; absent if there were none. */
  beforeSubmodules?: MovedSubmodule[]
  afterSubmodules?: MovedSubmodule[]
}

export interface TreeOfTurn {
  sessionId: string
  turnId: string
  when: 'before' | 'after'
  tree: string
  submodules?: MovedSubmodule[]
  at: number
  endSeq?: number
  isLate?: boolean
}

/** Maps turns to their snapshots, with a small file per session. */
export class TurnTrees {
  readonly #writing = new OneAfterTheOther()

  async read(root: string, sessionId: string, turnId: string): Promise<TreesOfTurn | undefined> {
    return (await readTrees(fileOf(root, sessionId))).get(turnId)
  }

  /** The trees of all turns of a session, oldest first. */
  async all(root: string, sessionId: string): Promise<Map<string, TreesOfTurn>> {
    await this.#writing.settled()
    return readTrees(fileOf(root, sessionId))
  }

  /** Stores the trees for a session that starts with these turns of another. */
  async adopt(root: string, sessionId: string, trees: ReadonlyMap<string, TreesOfTurn>): Promise<void> {
    if (trees.size === 0) return
    await writeTrees(root, sessionId, trees)
  }

  async remove(root: string, sessionId: string): Promise<void> {
    await this.#writing.settled()
    await rm(fileOf(root, sessionId), { force: true })
  }

  write(
    root: string,
    { sessionId, turnId, when, tree, submodules = [], at, endSeq, isLate = false }: TreeOfTurn,
  ): Promise<void> {
    const file = fileOf(root, sessionId)
    const work = async () => {
      const trees = await readTrees(file)
      const known = trees.get(turnId)
      if (when === 'after' && known === undefined) return
      const moved = submodules.length === 0 ? {} : { [`${when}Submodules`]: submodules }
      const ended = {
        after: tree,
        afterAt: at,
        ...(endSeq === undefined ? {} : { endSeq }),
        ...(isLate ? { isLate } : {}),
      }
      trees.set(
        turnId,
        when === 'before'
          ? { before: tree, beforeAt: at, ...moved }
          : { before: tree, ...known, ...ended, ...moved },
      )
      const kept = new Map([...trees].slice(-MAX_TURNS))
      await writeTrees(root, sessionId, kept)
    }
    return this.#writing.run(work)
  }
}

const MAX_TURNS = 1000

/** Lies in `.chirality` of the project, which git ignores: a snapshot must not contain itself. */
function snapshotFolder(root: string): string {
  return path.join(root, '.chirality', 'state', 'snapshots')
}

/** Makes the folder of a project's snapshots. Throws if a link or a foreign file has its place. */
export async function ensureSnapshotFolder(root: string): Promise<string> {
  const folder = snapshotFolder(root)
  const state = path.dirname(folder)
  for (const part of [path.dirname(state), state, folder]) await ensurePrivateDirectory(part)
  return folder
}

function fileOf(root: string, sessionId: string): string {
  return path.join(snapshotFolder(root), `${sessionId}.json`)
}

async function writeTrees(
  root: string,
  sessionId: string,
  trees: ReadonlyMap<string, TreesOfTurn>,
): Promise<void> {
  // The snapshots may have been trimmed with their folder since.
  await ensureSnapshotFolder(root)
  await writeFileAtomic(fileOf(root, sessionId), `${JSON.stringify(Object.fromEntries(trees))}\n`)
}

/** Reads the records. Other programs can write this file, so an invalid one counts as empty. */
async function readTrees(file: string): Promise<Map<string, TreesOfTurn>> {
  try {
    return parseTrees(JSON.parse((await readStateFile(file, MAX_BYTES)).toString('utf8')))
  } catch (error) {
    // Treated as empty, an unreadable file would be rewritten without the earlier turns.
    if (CANNOT_READ_NOW.has(errnoOf(error) ?? '')) throw error
    return new Map()
  }
}

const CANNOT_READ_NOW = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO'])
const MAX_BYTES = 4 * 1024 * 1024

/** Throws for anything that `TurnTrees` did not write. Unknown entries are left out. */
function parseTrees(value: unknown): Map<string, TreesOfTurn> {
  return new Map(Object.entries(recordIn(value)).map(([turnId, turn]) => [turnId, parseTurn(recordIn(turn))]))
}

function parseTurn(turn: Record<string, unknown>): TreesOfTurn {
  const { before } = turn
  if (!isTree(before)) throw new Error('before is no tree')
  const trees: TreesOfTurn = { before }
  for (const [name, isValid] of Object.entries(VALID)) {
    const value = turn[name]
    if (value === undefined) continue
    if (!isValid(value)) throw new Error(`${name} has a value of another kind`)
    Object.assign(trees, { [name]: value })
  }
  return trees
}

const VALID: Readonly<Record<string, (value: unknown) => boolean>> = {
  after: isTree,
  beforeAt: isCount,
  afterAt: isCount,
  endSeq: isCount,
  isLate: value => value === true,
  beforeSubmodules: areSubmodules,
  afterSubmodules: areSubmodules,
}

function isTree(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40,64}$/.test(value)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function areSubmodules(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((entry: unknown) => {
      const { path: place, from, to, ...rest } = recordIn(entry)
      const areCommits = [from, to].every(commit => commit === null || typeof commit === 'string')
      return typeof place === 'string' && areCommits && Object.keys(rest).length === 0
    })
  )
}

function recordIn(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('is no object')
  return value as Record<string, unknown>
}
