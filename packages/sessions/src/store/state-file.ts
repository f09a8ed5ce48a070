import { join } from 'node:path'
import { writeFileAtomic } from '../files/atomic-write.ts'
import { type FileOps, realFileOps } from '../files/file-ops.ts'
import { ensureProjectFolder, findProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import { readSmallFile } from '../files/read-write.ts'
import { toStorageError } from '../files/storage-error.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { parseObject } from './stored-session.ts'

export interface StateFileOptions<T> {
  /** In `.chirality/state/`. */
  name: string
  /** The state in what a file holds, or undefined if it is none. */
  parse: (value: Record<string, unknown>) => T | undefined
  initial: () => T
}

export interface StateFile<T> {
  read(projectRoot: string): Promise<T>
  /** Reads, changes and writes, one at a time. */
  update(projectRoot: string, change: (state: T) => T): Promise<T>
}

/** A small JSON file of a project. One that is spoilt is kept aside and begun anew. */
export function defineStateFile<T>(options: StateFileOptions<T>, ops: FileOps = realFileOps): StateFile<T> {
  const { name, parse, initial } = options
  const queue = new KeyedQueue()

  const load = (path: string): T => {
    if (ops.lstat(path) === undefined) return initial()
    const text = ops.lstat(path)?.isFile() ? readSmallFile(ops, path, MAX_STATE_BYTES) : undefined
    const value = text && parseObject(text.toString('utf8'))
    const state = value && parse(value)
    if (state !== undefined) return state
    ops.rename(path, `${path}.corrupt-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`)
    return initial()
  }

  return {
    read: async projectRoot => {
      const folder = await findProjectFolder(projectRoot, STATE_FOLDER)
      if (folder === undefined) return initial()
      try {
        return load(join(folder, name))
      } catch (error) {
        throw toStorageError(error, join(folder, name))
      }
    },
    update: (projectRoot, change) =>
      queue.run(realProjectRoot(projectRoot), async () => {
        const path = join(await ensureProjectFolder(projectRoot, STATE_FOLDER), name)
        try {
          const state = change(load(path))
          await writeFileAtomic(path, `${JSON.stringify(state, null, 2)}\n`, { ops })
          return state
        } catch (error) {
          throw toStorageError(error, path)
        }
      }),
  }
}

const STATE_FOLDER = 'state'
const MAX_STATE_BYTES = 1024 * 1024
