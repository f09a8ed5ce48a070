import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { MovedSubmodule } from '@chirality/workspaces'
import { z } from 'zod'
import { movedSubmodules } from '../contract/file-answers.ts'
import { readRegularFile } from '../files/read-file.ts'
import { writePrivateFile } from '../system/user-files.ts'

/** The project's files at the beginning and end of a turn, as git trees. */
export interface TreesOfTurn {
  before: string
  /** Undefined while the turn runs. */
  after?: string
  /** When each was recorded, in milliseconds since 1970. Older records do not have it. */
  beforeAt?: number
  afterAt?: number
  /** The last event of the log when the turn ended. */
  endSeq?: number
  /** At another commit than the tree names; absent if there were none. */
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
}

/** Which snapshots belong to which turn: a small file for each session. */
export class TurnTrees {
  #writing: Promise<void> = Promise.resolve()

  async read(root: string, sessionId: string, turnId: string): Promise<TreesOfTurn | undefined> {
    return (await readTrees(fileOf(root, sessionId))).get(turnId)
  }

  /** Of all turns of a session, oldest first. */
  async all(root: string, sessionId: string): Promise<Map<string, TreesOfTurn>> {
    await this.#writing.catch(() => {})
    return readTrees(fileOf(root, sessionId))
  }

  /** For a session that begins with these turns of another. */
  async adopt(root: string, sessionId: string, trees: ReadonlyMap<string, TreesOfTurn>): Promise<void> {
    if (trees.size === 0) return
    await writePrivateFile(fileOf(root, sessionId), `${JSON.stringify(Object.fromEntries(trees))}\n`)
  }

  async remove(root: string, sessionId: string): Promise<void> {
    await this.#writing.catch(() => {})
    await rm(fileOf(root, sessionId), { force: true })
  }

  write(
    root: string,
    { sessionId, turnId, when, tree, submodules = [], at, endSeq }: TreeOfTurn,
  ): Promise<void> {
    const file = fileOf(root, sessionId)
    const work = async () => {
      const trees = await readTrees(file)
      const known = trees.get(turnId)
      if (when === 'after' && known === undefined) return
      const moved = submodules.length === 0 ? {} : { [`${when}Submodules`]: submodules }
      const ended = { after: tree, afterAt: at, ...(endSeq === undefined ? {} : { endSeq }) }
      trees.set(
        turnId,
        when === 'before'
          ? { before: tree, beforeAt: at, ...moved }
          : { before: tree, ...known, ...ended, ...moved },
      )
      const kept = [...trees].slice(-MAX_TURNS)
      await writePrivateFile(file, `${JSON.stringify(Object.fromEntries(kept))}\n`)
    }
    this.#writing = this.#writing.then(work, work)
    return this.#writing
  }
}

const MAX_TURNS = 1000

const tree = z.string().regex(/^[0-9a-f]{40,64}$/)
const number = z.int().nonnegative().optional()
const FILE = z.record(
  z.string(),
  z.object({
    ...{ before: tree, after: tree.optional(), beforeAt: number, afterAt: number, endSeq: number },
    ...{ beforeSubmodules: movedSubmodules.optional(), afterSubmodules: movedSubmodules.optional() },
  }),
)

function fileOf(root: string, sessionId: string): string {
  return path.join(root, '.chirality', 'state', 'snapshots', `${sessionId}.json`)
}

/** Other programs can write this file, so everything that is not exactly valid is ignored. */
async function readTrees(file: string): Promise<Map<string, TreesOfTurn>> {
  try {
    return new Map(Object.entries(FILE.parse(JSON.parse(await readRegularFile(file)))))
  } catch {
    return new Map()
  }
}
