import { type FileOps, realFileOps } from '@chirality/disk'

export const FAULTS = ['ENOSPC', 'EIO', 'EACCES', 'EROFS', 'EMFILE', 'short write'] as const
export type FaultKind = (typeof FAULTS)[number]

/** How long it lasts: one operation, or all from then on until `clear`. */
export type FaultSpan = 'once' | 'lasting'

/** The real file operations, of which the k-th fails. */
export class FaultyOps {
  readonly #kind: FaultKind
  readonly #at: number
  readonly #span: FaultSpan
  #count = 0
  #cleared = false
  readonly ops: FileOps

  constructor(kind: FaultKind, at: number, span: FaultSpan) {
    this.#kind = kind
    this.#at = at
    this.#span = span
    this.ops = {
      ...realFileOps,
      open: (path, flags) => this.#run(() => realFileOps.open(path, flags)),
      close: fd => {
        realFileOps.close(fd)
        this.#run(() => {})
      },
      read: (fd, buffer, position) => this.#run(() => realFileOps.read(fd, buffer, position)),
      write: (fd, bytes) => this.#write(bytes, part => realFileOps.write(fd, part)),
      writeAt: (fd, bytes, position) => this.#write(bytes, part => realFileOps.writeAt(fd, part, position)),
      truncate: (fd, size) => this.#run(() => realFileOps.truncate(fd, size)),
      stat: fd => this.#run(() => realFileOps.stat(fd)),
      lstat: path => this.#run(() => realFileOps.lstat(path)),
      chmod: (fd, mode) => this.#run(() => realFileOps.chmod(fd, mode)),
      rename: (from, to) => this.#run(() => realFileOps.rename(from, to)),
      link: (from, to) => this.#run(() => realFileOps.link(from, to)),
      unlink: path => this.#run(() => realFileOps.unlink(path)),
      readdir: path => this.#run(() => realFileOps.readdir(path)),
      // No power cut here, so the disk itself need not be waited for.
      sync: async () => this.#run(() => {}),
      syncData: async () => this.#run(() => {}),
    }
  }

  /** Whether there were that many operations at all. */
  get wasReached(): boolean {
    return this.#count >= this.#at
  }

  clear(): void {
    this.#cleared = true
  }

  #run<T>(operation: () => T): T {
    if (this.#fails() && this.#kind !== 'short write') {
      throw Object.assign(new Error(`${this.#kind}: injected`), { code: this.#kind })
    }
    return operation()
  }

  /** A disk that fills up takes a part of the bytes, and then says so. */
  #write(bytes: Uint8Array, operation: (part: Uint8Array) => number): number {
    if (!this.#fails()) return operation(bytes)
    if (this.#kind !== 'short write') {
      throw Object.assign(new Error(`${this.#kind}: injected`), { code: this.#kind })
    }
    const part = bytes.subarray(0, bytes.length >> 1)
    if (part.length > 0) operation(part)
    throw Object.assign(new Error('ENOSPC: injected'), { code: 'ENOSPC' })
  }

  #fails(): boolean {
    this.#count += 1
    if (this.#cleared) return false
    return this.#span === 'once' ? this.#count === this.#at : this.#count >= this.#at
  }
}
