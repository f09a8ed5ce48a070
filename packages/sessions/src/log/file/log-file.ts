import { dirname } from 'node:path'
import { freeName, removeIfThere, syncFolder, temporaryName } from '../../files/atomic-write.ts'
import type { FileOps } from '../../files/file-ops.ts'
import { OPEN, openRegular, readFully, writeAll } from '../../files/read-write.ts'

export type FileState =
  | 'sound'
  /** Deleted, moved away, or another file has its name. We still hold the bytes. */
  | 'gone'
  /** Somebody else wrote to it or cut it. */
  | 'changed'

/** The file that a log is written to, and the one place that knows how far it is good. */
export class LogFile {
  readonly path: string
  readonly #ops: FileOps
  readonly #ensureFolder: () => Promise<unknown>
  #fd: number
  #identity: { ino: number; dev: number }
  #size: number
  /** Bytes of a failed write may stand behind `#size`. */
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

  /** All of it or nothing. It counts only after `commit`. */
  append(bytes: Uint8Array): void {
    this.#cutBack()
    this.#dirty = true
    try {
      writeAll(this.#ops, this.#fd, bytes)
    } catch (error) {
      this.#tryToCutBack()
      throw error
    }
  }

  commit(bytes: number): void {
    this.#size += bytes
    this.#dirty = false
  }

  /** Takes back what was appended and not committed, from the end that the file has now. */
  undo(bytes: number): void {
    const { size } = this.#ops.stat(this.#fd)
    this.#ops.truncate(this.#fd, Math.max(0, size - bytes))
    this.#dirty = false
  }

  /** Whether the file is still the one we wrote to, and as long as `bytes` beyond what counts. */
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

  /** Keeps the bytes from `from` on in a file beside the log, and cuts them off. */
  async setAside(from: number): Promise<string> {
    const aside = freeName(this.#ops, `${this.path.replace(/\.ndjson$/, '')}.torn`)
    await this.#copyTo(aside, from, this.#size)
    this.#ops.truncate(this.#fd, from)
    this.#size = from
    return aside
  }

  /** Goes on with a new descriptor: one that failed is not trusted again. */
  async reopen(): Promise<void> {
    if (this.look(0) === 'gone') return this.rewrite()
    this.#swap(openRegular(this.#ops, this.path, OPEN.append))
    this.#cutBack()
  }

  /** Someone changed the file: what is there now counts. */
  async reload(): Promise<void> {
    if (this.look(0) === 'gone') return this.rewrite()
    this.#swap(openRegular(this.#ops, this.path, OPEN.append))
    this.#size = this.#ops.stat(this.#fd).size
  }

  /**
   * Writes the whole log again from the bytes we still hold, under its old name. After a deletion there is no other
   * copy; after a failed sync no other way to know that the disk has it.
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
    // A sync that waits for its turn would hit whatever file gets this number next.
    void this.#syncing.then(() => this.#close(old))
  }

  #close(fd: number): void {
    try {
      this.#ops.close(fd)
    } catch {
      // What counts was synced, and the rest was not to be trusted anyway.
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

  /** Never makes the file longer: if someone cut it meanwhile, that would fill it up with zeros. */
  #cutBack(): void {
    if (!this.#dirty) return
    if (this.#ops.stat(this.#fd).size > this.#size) this.#ops.truncate(this.#fd, this.#size)
    this.#dirty = false
  }

  #tryToCutBack(): void {
    try {
      this.#cutBack()
    } catch {
      // Still dirty: nothing is appended before this works.
    }
  }
}

export interface LogFileOptions {
  ops: FileOps
  /** Makes the folder of the log again if it is gone. */
  ensureFolder: () => Promise<unknown>
}

const COPY_BYTES = 1024 * 1024
