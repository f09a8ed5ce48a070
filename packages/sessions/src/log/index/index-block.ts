import { crc32 } from 'node:zlib'

/** The position of the line of one `seq`. */
export interface ByteRange {
  seq: number
  start: number
  length: number
  /** Checksum of the line with its newline; 0 for a damaged one. */
  crc: number
  /** True if the range may contain more than the line, or nothing of it: it has to be searched. */
  damaged: boolean
}

export const BLOCK_EVENTS = 512

/**
 * Lengths and checksums of 512 consecutive lines, 8 bytes each. The ranges follow each other from `base` on without
 * gaps: every byte of the log belongs to exactly one `seq`.
 */
export class IndexBlock {
  readonly base: number
  readonly #words: Uint32Array
  #count: number
  #bytes: number

  constructor(base: number, words = new Uint32Array(2 * BLOCK_EVENTS), count = 0) {
    this.base = base
    this.#words = words
    this.#count = count
    this.#bytes = 0
    for (let i = 0; i < count; i += 1) this.#bytes += this.#length(i)
  }

  get count(): number {
    return this.#count
  }

  /** The end of the last range. */
  get end(): number {
    return this.base + this.#bytes
  }

  /** A damaged range can have any size and needs no checksum, so the second word extends its length. */
  add(length: number, crc: number, damaged: boolean): void {
    this.#words[2 * this.#count] = damaged ? DAMAGED + (length % DAMAGED) : length
    this.#words[2 * this.#count + 1] = damaged ? Math.floor(length / DAMAGED) : crc
    this.#count += 1
    this.#bytes += length
  }

  /** Removes the last range. */
  pop(): void {
    this.#count -= 1
    this.#bytes -= this.#length(this.#count)
  }

  /** The ranges of the entries `from` to `to` (exclusive); `firstSeq` is that of entry 0. */
  ranges(firstSeq: number, from: number, to: number): ByteRange[] {
    const found: ByteRange[] = []
    let start = this.base
    for (let i = 0; i < to; i += 1) {
      const length = this.#length(i)
      if (i >= from) {
        const damaged = this.#isDamaged(i)
        const crc = damaged ? 0 : (this.#words[2 * i + 1] ?? 0)
        found.push({ seq: firstSeq + i, start, length, crc, damaged })
      }
      start += length
    }
    return found
  }

  crcOf(entry: number): number | undefined {
    return this.#isDamaged(entry) ? undefined : this.#words[2 * entry + 1]
  }

  encode(): Buffer {
    const bytes = Buffer.alloc(BLOCK_BYTES)
    bytes.writeUInt32LE(MAGIC, 0)
    bytes.writeUInt32LE(this.#count, 4)
    bytes.writeDoubleLE(this.base, 8)
    for (let i = 0; i < 2 * this.#count; i += 1)
      bytes.writeUInt32LE(this.#words[i] ?? 0, HEADER_BYTES + 4 * i)
    bytes.writeUInt32LE(checksum(bytes), CHECKSUM_AT)
    return bytes
  }

  /** Undefined for bytes that are not an intact block. */
  static decode(bytes: Buffer): IndexBlock | undefined {
    if (bytes.length !== BLOCK_BYTES || bytes.readUInt32LE(0) !== MAGIC) return undefined
    if (bytes.readUInt32LE(CHECKSUM_AT) !== checksum(bytes)) return undefined
    const count = bytes.readUInt32LE(4)
    const base = bytes.readDoubleLE(8)
    if (count > BLOCK_EVENTS || !Number.isSafeInteger(base) || base < 0) return undefined
    const words = new Uint32Array(2 * BLOCK_EVENTS)
    for (let i = 0; i < 2 * count; i += 1) words[i] = bytes.readUInt32LE(HEADER_BYTES + 4 * i)
    return new IndexBlock(base, words, count)
  }

  #length(entry: number): number {
    const low = (this.#words[2 * entry] ?? 0) % DAMAGED
    return this.#isDamaged(entry) ? low + (this.#words[2 * entry + 1] ?? 0) * DAMAGED : low
  }

  #isDamaged(entry: number): boolean {
    return (this.#words[2 * entry] ?? 0) >= DAMAGED
  }
}

/** The top bit of the first word. An intact line is shorter: it could not be a string otherwise. */
const DAMAGED = 2 ** 31
export const MAX_LINE_BYTES = DAMAGED - 1

const MAGIC = 0x31584843 // 'CHX1'
const CHECKSUM_AT = 16
const HEADER_BYTES = 20
export const BLOCK_BYTES = HEADER_BYTES + 8 * BLOCK_EVENTS

function checksum(block: Buffer): number {
  return crc32(block.subarray(HEADER_BYTES), crc32(block.subarray(0, CHECKSUM_AT)))
}
