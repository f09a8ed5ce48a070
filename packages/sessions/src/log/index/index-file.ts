import type { FileOps } from '@chirality/disk'
import { OPEN, openRegular, readFully } from '@chirality/disk'
import { BLOCK_BYTES, BLOCK_EVENTS, IndexBlock } from './index-block.ts'

/**
 * The sidecar `events/<id>.idx`. A cache: missing or wrong parts are detected and read from the log again, so it is
 * never synced, and a failed write is no error.
 */
export class IndexFile {
  readonly #ops: FileOps
  readonly #writable: boolean
  #fd: number | undefined

  private constructor(ops: FileOps, fd: number | undefined, writable: boolean) {
    this.#ops = ops
    this.#fd = fd
    this.#writable = writable
  }

  /** A sidecar that stores nothing: the index stays in memory. */
  static none(ops: FileOps): IndexFile {
    return new IndexFile(ops, undefined, false)
  }

  static open(ops: FileOps, path: string, mode: 'read' | 'write'): IndexFile {
    const writable = mode === 'write'
    try {
      return new IndexFile(ops, openRegular(ops, path, writable ? OPEN.update : OPEN.read), writable)
    } catch {
      return IndexFile.none(ops)
    }
  }

  /** The number of blocks, the last one possibly not full; a torn or wrong block at the end does not count. */
  blockCount(): number {
    const blocks = Math.floor(this.#size() / BLOCK_BYTES)
    for (let last = blocks - 1; last >= Math.max(0, blocks - MAX_TORN_BLOCKS); last -= 1) {
      const block = this.read(last)
      if (block === undefined) continue
      return block.count === BLOCK_EVENTS || last === blocks - 1 ? last + 1 : last
    }
    return 0
  }

  read(number: number): IndexBlock | undefined {
    if (this.#fd === undefined) return undefined
    try {
      const buffer = Buffer.allocUnsafe(BLOCK_BYTES)
      return IndexBlock.decode(readFully(this.#ops, this.#fd, { buffer, position: number * BLOCK_BYTES }))
    } catch {
      return undefined
    }
  }

  /** False if the write failed; the blocks have to be kept and written again. */
  write(first: number, blocks: readonly IndexBlock[]): boolean {
    if (this.#fd === undefined || !this.#writable) return false
    try {
      const bytes = Buffer.concat(blocks.map(block => block.encode()))
      const written = this.#ops.writeAt(this.#fd, bytes, first * BLOCK_BYTES)
      return written === bytes.length
    } catch {
      return false
    }
  }

  /**
   * Removes every block from this one on: they describe a log that no longer exists. Blocks that cannot be removed are
   * ignored.
   */
  truncate(blocks: number): void {
    if (this.#fd === undefined || !this.#writable) return
    try {
      this.#ops.truncate(this.#fd, blocks * BLOCK_BYTES)
    } catch {
      this.close()
    }
  }

  close(): void {
    if (this.#fd === undefined) return
    const fd = this.#fd
    this.#fd = undefined
    try {
      this.#ops.close(fd)
    } catch {
      // A cache that cannot be closed is treated like a missing one.
    }
  }

  #size(): number {
    try {
      return this.#fd === undefined ? 0 : this.#ops.stat(this.#fd).size
    } catch {
      return 0
    }
  }
}

/** A crash tears at most the block that was being written. */
const MAX_TORN_BLOCKS = 2
