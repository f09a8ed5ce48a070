import { utf8 } from './utf8.ts'

const INITIAL_BYTES = 4 * 1024
/** A buffer that one huge line grew past this is let go afterwards: hundreds of idle framers must not each hold 64 MB. */
const KEEP_BYTES = 1024 * 1024

/**
 * The start of a line whose end has not arrived. It copies, so the caller may reuse its chunk, and doubles when
 * full, so a line costs time in proportion to its size even when it comes byte by byte.
 */
export class PendingBytes {
  #buffer = utf8.view(new Uint8Array(0))
  #length = 0

  get length(): number {
    return this.#length
  }

  append(part: Uint8Array): void {
    if (part.length === 0) return
    const needed = this.#length + part.length
    if (needed > this.#buffer.length) this.#grow(needed)
    this.#buffer.set(part, this.#length)
    this.#length = needed
  }

  /** The bytes so far, as a `utf8` view into the buffer: valid until the next `append` or `clear`. */
  view(): Uint8Array {
    return this.#buffer
  }

  clear(): void {
    this.#length = 0
    if (this.#buffer.length > KEEP_BYTES) this.#buffer = utf8.view(new Uint8Array(0))
  }

  #grow(needed: number): void {
    let capacity = Math.max(INITIAL_BYTES, this.#buffer.length)
    while (capacity < needed) capacity *= 2
    const grown = utf8.view(new Uint8Array(capacity))
    grown.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = grown
  }
}
