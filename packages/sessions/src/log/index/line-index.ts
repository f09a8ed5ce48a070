import { CodedError } from '@chirality/core'
import { BLOCK_EVENTS, type ByteRange, IndexBlock, MAX_LINE_BYTES } from './index-block.ts'
import type { IndexFile } from './index-file.ts'

/** The index is wrong, or not that of this log: it has to be made again. */
export function indexDamaged(what: string): CodedError<'index-damaged'> {
  return new CodedError('index-damaged', what)
}

/** 256 KB of index in one write. */
const MAX_UNSAVED_BLOCKS = 64
const MAX_LOADED_BLOCKS = 64

/**
 * Maps a `seq` to the position of its line. Blocks in the sidecar are read on demand and not kept, so a log of a
 * million events needs no more memory, and no more time to open, than one of a thousand.
 */
export class LineIndex {
  #file: IndexFile
  /** Blocks that the sidecar does not have yet; the last one is still being filled. */
  #unsaved: IndexBlock[]
  #firstUnsaved: number
  readonly #loaded = new Map<number, IndexBlock>()
  #dirty = false
  #saveAbove = MAX_UNSAVED_BLOCKS

  private constructor(file: IndexFile, firstUnsaved: number, open: IndexBlock) {
    this.#file = file
    this.#firstUnsaved = firstUnsaved
    this.#unsaved = [open]
  }

  /** The index in the sidecar; empty if it cannot be trusted. */
  static load(file: IndexFile): LineIndex {
    const blocks = file.blockCount()
    const last = blocks > 0 ? file.read(blocks - 1) : undefined
    if (last === undefined) return LineIndex.empty(file)
    if (last.count < BLOCK_EVENTS) return new LineIndex(file, blocks - 1, last)
    return new LineIndex(file, blocks, new IndexBlock(last.end))
  }

  static empty(file: IndexFile): LineIndex {
    file.truncate(0)
    return new LineIndex(file, 0, new IndexBlock(0))
  }

  /** Writes the whole index to this sidecar, replacing its content. */
  moveTo(file: IndexFile): void {
    file.truncate(0)
    this.#file = file
    this.#dirty = true
    this.save()
  }

  /** The last `seq` that has a range. */
  get count(): number {
    return (this.#firstUnsaved + this.#unsaved.length - 1) * BLOCK_EVENTS + this.#open.count
  }

  /** The number of bytes of the log that have a range. */
  get bytes(): number {
    return this.#open.end
  }

  add(length: number, crc: number, damaged = false): void {
    this.#open.add(length, crc, damaged || length > MAX_LINE_BYTES)
    this.#dirty = true
    if (this.#open.count === BLOCK_EVENTS) this.#unsaved.push(new IndexBlock(this.#open.end))
    if (this.#unsaved.length > this.#saveAbove) this.save()
  }

  /** Numbers whose lines are missing. */
  addMissing(count: number): void {
    for (let i = 0; i < count; i += 1) this.add(0, 0, true)
  }

  /** Removes ranges that reach beyond `size`; returns how many. */
  cutTo(size: number): number {
    const before = this.count
    while (this.bytes > size) this.#pop()
    return before - this.count
  }

  /** Ranges of `from` to `to`, both included. */
  ranges(from: number, to: number): ByteRange[] {
    const found: ByteRange[] = []
    for (let seq = from; seq <= to; ) {
      const number = Math.floor((seq - 1) / BLOCK_EVENTS)
      const firstSeq = number * BLOCK_EVENTS + 1
      const end = Math.min(to - firstSeq + 1, BLOCK_EVENTS)
      found.push(...this.#block(number).ranges(firstSeq, seq - firstSeq, end))
      seq = firstSeq + end
    }
    return found
  }

  /** The checksum of a line; undefined if there is none. */
  crcOf(seq: number): number | undefined {
    if (seq < 1 || seq > this.count) return undefined
    return this.#block(Math.floor((seq - 1) / BLOCK_EVENTS)).crcOf((seq - 1) % BLOCK_EVENTS)
  }

  save(): void {
    if (!this.#dirty) return
    if (!this.#file.write(this.#firstUnsaved, this.#unsaved)) {
      this.#saveAbove = this.#unsaved.length + MAX_UNSAVED_BLOCKS
      return
    }
    this.#saveAbove = MAX_UNSAVED_BLOCKS
    this.#dirty = false
    this.#firstUnsaved += this.#unsaved.length - 1
    this.#unsaved = [this.#open]
  }

  close(): void {
    this.save()
    this.#file.close()
  }

  get #open(): IndexBlock {
    const open = this.#unsaved.at(-1)
    if (open === undefined) throw indexDamaged('no block is open')
    return open
  }

  #block(number: number): IndexBlock {
    const unsaved = this.#unsaved[number - this.#firstUnsaved]
    if (unsaved !== undefined) return unsaved
    const loaded = this.#loaded.get(number) ?? this.#file.read(number)
    if (loaded?.count !== BLOCK_EVENTS) throw indexDamaged(`block ${number} is damaged`)
    this.#loaded.delete(number)
    this.#loaded.set(number, loaded)
    const [oldest] = this.#loaded.keys()
    if (this.#loaded.size > MAX_LOADED_BLOCKS && oldest !== undefined) this.#loaded.delete(oldest)
    return loaded
  }

  #pop(): void {
    this.#dirty = true
    if (this.#open.count === 0) {
      // The open block is empty: continue with the block before it.
      const number = this.#firstUnsaved + this.#unsaved.length - 2
      const previous = this.#block(number)
      this.#unsaved.pop()
      if (this.#unsaved.length === 0) {
        this.#firstUnsaved = number
        this.#unsaved = [previous]
        this.#loaded.delete(number)
        this.#file.truncate(number)
      }
    }
    this.#open.pop()
  }
}
