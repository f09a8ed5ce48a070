import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { FileOps } from '@chirality/disk'
import {
  freeName,
  OPEN,
  openRegular,
  readFully,
  removeIfThere,
  syncFolder,
  temporaryName,
  writeAll,
} from '@chirality/disk'

export type FileState =
  | 'sound'
  /** The file was deleted or moved, or another file has its name. The open descriptor still has the bytes. */
  | 'gone'
  /** Another program wrote to the file or truncated it. */
  | 'changed'

/** The file that a log is written to, and the only place that knows how much of it is valid. */
export class LogFile {
  readonly path: string
  readonly #ops: FileOps
  readonly #ensureFolder: () => Promise<unknown>
  #fd: number
  #identity: { ino: number; dev: number }
  #size: number
  /** Bytes of a failed write may follow `#size`. */
  #dirty = false
  #syncing = Promise.resolve()

  private constructor(path: string, fd: number, options: LogFileOptions) {
    this.path = path
    this.#ops = options.ops
    this.#ensureFolder = options.ensureFolder
    const { size, ino, dev } = options.ops.stat(fd)
    this.#fd = fd
    this.#identity = { ino, dev }
    this.#size = size
  }

  static async open(path: string, options: LogFileOptions): Promise<LogFile> {
    await options.ensureFolder()
    const { ops } = options
    const isNew = ops.lstat(path) === undefined
    const fd = openRegular(ops, path, isNew ? OPEN.createAppend : OPEN.append)
    try {
      if ((ops.stat(fd).mode & 0o077) !== 0) ops.chmod(fd, 0o600)
      if (isNew) await syncFolder(ops, dirname(path))
      return new LogFile(path, fd, options)
    } catch (error) {
      ops.close(fd)
      throw error
    }
  }

  get fd(): number {
    return this.#fd
  }

  get size(): number {
    return this.#size
  }

  /** Writes all of it or nothing. The bytes are valid only if the path still leads to this file. */
  write(bytes: Uint8Array): FileState {
    this.#append(bytes)
    const state = this.look(bytes.length)
    if (state === 'sound') this.#size += bytes.length
    else this.#undo(bytes.length)
    this.#dirty = false
    return state
  }

  #append(bytes: Uint8Array): void {
    this.#cutBack()
    this.#dirty = true
    try {
      writeAll(this.#ops, this.#fd, bytes)
    } catch (error) {
      this.#tryToCutBack()
      throw error
    }
  }

  /** Removes the bytes that were written last, from the current end of the file. */
  #undo(bytes: number): void {
    const { size } = this.#ops.stat(this.#fd)
    this.#ops.truncate(this.#fd, Math.max(0, size - bytes))
  }

  /** Whether the path still leads to this file, and its size is the valid part plus `bytes`. */
  look(bytes: number): FileState {
    const named = this.#ops.lstat(this.path)
    if (named === undefined || !this.#isOurs(named)) return 'gone'
    return named.size === this.#size + bytes ? 'sound' : 'changed'
  }

  async sync(): Promise<void> {
    const sync = this.#ops.syncData(this.#fd)
    this.#syncing = sync.catch(() => {})
    await sync
  }

  /** Saves the bytes from `from` on in a file beside the log, and cuts them off. */
  async setAside(from: number): Promise<string> {
    const aside = freeName(this.#ops, `${this.path.replace(/\.ndjson$/, '')}.torn`)
    await this.#copyTo(aside, from, this.#size)
    this.#ops.truncate(this.#fd, from)
    this.#size = from
    return aside
  }

  /** Reopens the file: a descriptor whose sync failed is not trusted again. */
  async reopen(): Promise<void> {
    if (this.look(0) === 'gone') return this.rewrite()
    this.#swap(openRegular(this.#ops, this.path, OPEN.append))
    this.#cutBack()
  }

  /** Another program changed the file: its current content becomes valid. */
  async reload(): Promise<void> {
    if (this.look(0) === 'gone') return this.rewrite()
    this.#swap(openRegular(this.#ops, this.path, OPEN.append))
    this.#size = this.#ops.stat(this.#fd).size
  }

  /**
   * Writes the whole log again under its name, from the open descriptor. After a deletion there is no other copy; after
   * a failed sync there is no other way to be sure that the disk has it.
   */
  async rewrite(): Promise<void> {
    await this.#ensureFolder()
    const temporary = temporaryName(this.path)
    this.#size = Math.min(this.#size, this.#ops.stat(this.#fd).size)
    try {
      await this.#copyTo(temporary, 0, this.#size)
      const other = this.#ops.lstat(this.path)
      if (other !== undefined && !this.#isOurs(other)) {
        this.#ops.rename(this.path, freeName(this.#ops, `${this.path}.replaced`))
      }
      const fd = openRegular(this.#ops, temporary, OPEN.append)
      this.#ops.rename(temporary, this.path)
      this.#swap(fd)
    } catch (error) {
      removeIfThere(this.#ops, temporary)
      throw error
    }
    await syncFolder(this.#ops, dirname(this.path))
  }

  close(): void {
    this.#tryToCutBack()
    this.#close(this.#fd)
  }

  #swap(fd: number): void {
    const old = this.#fd
    const { ino, dev } = this.#ops.stat(fd)
    this.#fd = fd
    this.#identity = { ino, dev }
    // A pending sync would act on the file that gets this descriptor number next.
    void this.#syncing.then(() => this.#close(old))
  }

  #close(fd: number): void {
    try {
      this.#ops.close(fd)
    } catch {
      // The valid part was synced, and the rest was not trusted anyway.
    }
  }

  async #copyTo(path: string, from: number, to: number): Promise<void> {
    const fd = this.#ops.open(path, OPEN.create)
    try {
      const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(COPY_BYTES, to - from)))
      for (let position = from; position < to; ) {
        const want = buffer.subarray(0, Math.min(buffer.length, to - position))
        const chunk = readFully(this.#ops, this.#fd, { buffer: want, position })
        if (chunk.length === 0) throw new Error(`${this.path} ends at ${position} instead of ${to}`)
        writeAll(this.#ops, fd, chunk)
        position += chunk.length
        // A log of any size must not keep everybody waiting.
        await setImmediate()
      }
      await this.#ops.sync(fd)
    } catch (error) {
      removeIfThere(this.#ops, path)
      throw error
    } finally {
      this.#ops.close(fd)
    }
  }

  #isOurs({ ino, dev }: { ino: number; dev: number }): boolean {
    return ino === this.#identity.ino && dev === this.#identity.dev
  }

  /** Never makes the file longer: if it was truncated meanwhile, that would fill it with zeros. */
  #cutBack(): void {
    if (!this.#dirty) return
    if (this.#ops.stat(this.#fd).size > this.#size) this.#ops.truncate(this.#fd, this.#size)
    this.#dirty = false
  }

  #tryToCutBack(): void {
    try {
      this.#cutBack()
    } catch {
      // The file stays marked as dirty: nothing is appended until this succeeds.
    }
  }
}

export interface LogFileOptions {
  ops: FileOps
  /** Creates the log's folder again if it was deleted. */
  ensureFolder: () => Promise<unknown>
}

const COPY_BYTES = 1024 * 1024
