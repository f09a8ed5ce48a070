import { utf8 } from './utf8.ts'

const INITIAL_BYTES = 4 * 1024
/** A larger buffer is released after its line: hundreds of idle framers must not each hold 64 MB. */
const KEEP_BYTES = 1024 * 1024
/**
 * Fresh memory costs a page fault where it is first written, and for a huge line those cost more than the copying:
 * doubling would write twice the line. Reserved memory that is never written is free, so large steps write it about
 * once; yet the engine counts it, and steps larger than this made it collect garbage once per line.
 */
const LARGE_STEP = 8

/**
 * The start of a line whose end has not arrived. It copies, so the caller may reuse its chunk, and grows by a factor,
 * so a line costs time in proportion to its size even when it comes byte by byte.
 */
export class PendingBytes {
  #buffer = utf8.view(new Uint8Array(0))
  #length = 0

  get length(): number {
    return this.#length
  }

  append(part: Uint8Array): void {
    const needed = this.#length + part.length
    if (needed > this.#buffer.length) this.#grow(needed)
    this.#buffer.set(part, this.#length)
    this.#length = needed
  }

  /** The buffer as a `utf8` view, its first `length` bytes filled: valid until the next `append` or `clear`. */
  view(): Uint8Array {
    return this.#buffer
  }

  clear(): void {
    this.#length = 0
    if (this.#buffer.length > KEEP_BYTES) this.#buffer = utf8.view(new Uint8Array(0))
  }

  #grow(needed: number): void {
    let capacity = Math.max(INITIAL_BYTES, this.#buffer.length)
    while (capacity < needed) capacity *= capacity < KEEP_BYTES ? 2 : LARGE_STEP
    const grown = utf8.view(new Uint8Array(capacity))
    grown.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = grown
  }
}
