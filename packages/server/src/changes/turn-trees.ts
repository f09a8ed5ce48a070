import { rm } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { readOwnFile } from '../files/read-file.ts'
import { writePrivateFile } from '../system/user-files.ts'

/** The project's files at the beginning and end of a turn, as git trees. */
export interface TreesOfTurn {
  before: string
  /** Undefined while the turn runs. */
  after?: string
}

export interface TreeOfTurn {
  sessionId: string
  turnId: string
  when: 'before' | 'after'
  tree: string
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

  write(root: string, { sessionId, turnId, when, tree }: TreeOfTurn): Promise<void> {
    const file = fileOf(root, sessionId)
    const work = async () => {
      const trees = await readTrees(file)
      const known = trees.get(turnId)
      if (when === 'after' && known === undefined) return
      trees.set(turnId, when === 'before' ? { before: tree } : { before: tree, ...known, after: tree })
      const kept = [...trees].slice(-MAX_TURNS)
      await writePrivateFile(file, `${JSON.stringify(Object.fromEntries(kept))}\n`)
    }
    this.#writing = this.#writing.then(work, work)
    return this.#writing
  }
}

const MAX_TURNS = 1000

const FILE = z.record(
  z.string(),
  z.object({
    before: z.string().regex(/^[0-9a-f]{40,64}$/),
    after: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/)
      .optional(),
  }),
)

function fileOf(root: string, sessionId: string): string {
  return path.join(root, '.chirality', 'state', 'snapshots', `${sessionId}.json`)
}

/** Other programs can write this file, so everything that is not exactly valid is ignored. */
async function readTrees(file: string): Promise<Map<string, TreesOfTurn>> {
  try {
    return new Map(Object.entries(FILE.parse(JSON.parse(await readOwnFile(file)))))
  } catch {
    return new Map()
  }
}
