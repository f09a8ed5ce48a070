import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Growing bytes that are rarely read, compressed to a third of the memory. */
export class KeptBytes {
  readonly #packed: Buffer[] = []
  #loose: Buffer[] = []
  #looseBytes = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(bytes: Buffer): void {
    this.#loose.push(bytes)
    this.#looseBytes += bytes.length
    this.#size += bytes.length
    if (this.#looseBytes < PACK_BYTES) return
    this.#packed.push(deflateRawSync(Buffer.concat(this.#loose)))
    this.#loose = []
    this.#looseBytes = 0
  }

  all(): Buffer {
    return Buffer.concat([...this.#packed.map(part => inflateRawSync(part)), ...this.#loose])
  }
}

const PACK_BYTES = 128 * 1024
