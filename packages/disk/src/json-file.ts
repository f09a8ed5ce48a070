import { setAside, writeFileAtomic } from './atomic-write.ts'
import { changeFile } from './change-file.ts'
import { type FileOps, realFileOps } from './file-ops.ts'
import { readSmallFile } from './read-write.ts'
import { withStorageErrors } from './storage-error.ts'

export interface JsonFileOptions<T> {
  /** The value that the content stands for. Throws if it stands for none: the file is then renamed, and begun anew. */
  parse: (content: unknown) => T
  /** The value without a file. */
  initial: () => T
  maxBytes: number
  /** The content for a value. Indented JSON of the value itself, if it is not given. */
  format?: (value: T) => string
  ops?: FileOps
}

/** A small JSON file that several processes change. It is read anew each time, so a change by another process is seen. */
export class JsonFile<T> {
  readonly path: string
  readonly #options: JsonFileOptions<T>

  constructor(path: string, options: JsonFileOptions<T>) {
    this.path = path
    this.#options = options
  }

  /** Throws a StorageError if the disk fails. */
  async read(): Promise<T> {
    return withStorageErrors(this.path, async () => this.#read())
  }

  /** No change of another process is lost. Nothing is written if `next` returns the value that it was given. */
  change(next: (value: T) => T): Promise<T> {
    const { format = value => `${JSON.stringify(value, null, 2)}\n`, ops } = this.#options
    const change = async () => {
      const known = await this.read()
      const value = next(known)
      if (value !== known) await writeFileAtomic(this.path, format(value), { ops })
      return value
    }
    return changeFile(this.path, change, { ops })
  }

  #read(): T {
    const { initial, maxBytes, ops = realFileOps, parse } = this.#options
    const found = ops.lstat(this.path)
    if (found === undefined) return initial()
    const text = found.isFile() ? readSmallFile(ops, this.path, maxBytes) : undefined
    try {
      if (text !== undefined) return parse(JSON.parse(text.toString('utf8')))
    } catch {
      // Set aside below, like what is no file.
    }
    setAside(this.path, 'corrupt', ops)
    return initial()
  }
}
