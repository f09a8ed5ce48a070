import { crc32 } from 'node:zlib'
import type { Envelope } from '@chirality/core'
import { encodeLine } from '../envelope-line.ts'

/** Numbered lines that wait to be written together. They are encoded in one call, which is twice as fast. */
export class Batch {
  #text = ''
  #buffer = Buffer.allocUnsafe(START_BYTES)
  #envelopes: Envelope[] = []
  /** Lengths in UTF-16 units. */
  #lengths: number[] = []
  /** Whether one of them must be synced at once. */
  urgent = false

  get count(): number {
    return this.#envelopes.length
  }

  get isFull(): boolean {
    return this.#text.length >= FULL_CHARS
  }

  get envelopes(): Envelope[] {
    return this.#envelopes
  }

  /** The lines to write, each with its newline. */
  get lines(): string {
    return this.#text
  }

  /** Throws if the event cannot be serialised as JSON. */
  add(envelope: Envelope): void {
    const line = encodeLine(envelope)
    this.#text += line
    this.#envelopes.push(envelope)
    this.#lengths.push(line.length)
  }

  /** The bytes to write. Valid until a line is added. */
  encode(): { bytes: Buffer; lines: { length: number; crc: number }[] } {
    const text = this.#text
    this.#reserve(text.length * MAX_BYTES_PER_UNIT)
    const bytes = this.#buffer.subarray(0, this.#buffer.write(text))
    const isAscii = bytes.length === text.length
    const lines: { length: number; crc: number }[] = []
    let units = 0
    let start = 0
    for (const length of this.#lengths) {
      const size = isAscii ? length : Buffer.byteLength(text.slice(units, units + length))
      lines.push({ length: size, crc: crc32(bytes.subarray(start, start + size)) })
      units += length
      start += size
    }
    return { bytes, lines }
  }

  clear(): void {
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafe(START_BYTES)
    this.#text = ''
    this.#envelopes = []
    this.#lengths = []
    this.urgent = false
  }

  #reserve(bytes: number): void {
    if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(bytes)
  }
}

/** Large enough for an efficient write; a loop that appends without a pause is written in pieces of this size. */
const FULL_CHARS = 64 * 1024
const START_BYTES = 256 * 1024
/** Larger buffers are released, so that one huge tool result does not keep its memory for the rest of the session. */
const MAX_KEPT_BYTES = 1024 * 1024
/** UTF-8 bytes of one UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3
