import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { CodedError } from '@chirality/core'
import {
  type FileOps,
  KeyedQueue,
  realFileOps,
  removeIfThere,
  StorageError,
  withStorageErrors,
} from '@chirality/disk'
import { parseSetup, type WorkspaceSetup } from '@chirality/workspaces'
import { IN_PROJECT, isInProject, type OwnFile, readOwnFile, writeOwnFile } from '../files/own-file.ts'
import { realPath } from '../files/real-path.ts'
import { userDataFolder } from '../files/user-data-folder.ts'

export interface OwnSetup {
  /** Of its text. */
  hash: string
  setup: WorkspaceSetup | { problem: string }
}

/**
 * How the user sets up worktrees of a project: `setups/<hash>.json` in the user's data folder, with the keys of the
 * project's `.chirality/workspace.yaml`, which it takes the place of. Nothing in a repository can change it, so it needs no
 * allowance.
 */
export class OwnSetups {
  readonly #home: string
  readonly #ops: FileOps
  readonly #queue = new KeyedQueue()

  constructor({ home = userDataFolder(), ops = realFileOps }: { home?: string; ops?: FileOps } = {}) {
    this.#home = home
    this.#ops = ops
  }

  /** Undefined if the user has none for the project. */
  get(projectRoot: string): OwnSetup | undefined {
    const file = this.#file(projectRoot)
    const read = this.#ops.lstat(file.path) && readOwnFile(file, MAX_BYTES)
    if (read === undefined) return undefined
    try {
      if ('problem' in read) throw new Error(read.problem)
      const { projectRoot: of, ...setup } = JSON.parse(read.text) as Record<string, unknown>
      if (of !== file.root) throw new Error('It is of another project.')
      return { hash: hashOf(read.text), setup: parseSetup(setup) }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      return { hash: hashOf(why), setup: { problem: `Your set-up for this project, ${file.path}: ${why}` } }
    }
  }

  /** Replaces it as a whole; null removes it. Throws what is wrong with it. */
  async set(projectRoot: string, given: unknown): Promise<void> {
    const file = this.#file(projectRoot)
    const setup = given === null ? null : checked(given)
    await this.#queue.run(file.path, () =>
      withStorageErrors(file.path, async () => {
        if (setup === null) return removeIfThere(this.#ops, file.path)
        if (isInProject(file)) throw new StorageError('unsafe', file.path, `${file.path}: ${IN_PROJECT}`)
        const text = JSON.stringify({ projectRoot: file.root, ...setup }, null, 2)
        await writeOwnFile(file, `${text}\n`)
      }),
    )
  }

  #file(projectRoot: string): OwnFile {
    const root = realPath(projectRoot)
    const name = createHash('sha256').update(root).digest('hex').slice(0, 32)
    return {
      home: this.#home,
      ops: this.#ops,
      root,
      path: join(this.#home, 'setups', `${name}.json`),
    }
  }
}

function checked(given: unknown): WorkspaceSetup {
  try {
    return parseSetup(given)
  } catch (error) {
    throw new CodedError('invalid_query', error instanceof Error ? error.message : String(error), error)
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const MAX_BYTES = 256 * 1024
