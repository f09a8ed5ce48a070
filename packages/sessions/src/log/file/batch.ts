import { crc32 } from 'node:zlib'
import type { Envelope } from '@chirality/core'
import { encodeLine } from '../envelope-line.ts'

/** Lines that have their number and wait to be written together. Made into bytes all at once: that is twice as fast. */
export class Batch {
  #text = ''
  #buffer = Buffer.allocUnsafe(START_BYTES)
  #envelopes: Envelope[] = []
  /** Lengths in UTF-16 units. */
  #lengths: number[] = []
  /** Whether one of them must not wait for the next sync. */
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

  /** What is to be written, each line with its line break. */
  get lines(): string {
    return this.#text
  }

  /** Throws when the event cannot be written as JSON. */
  add(envelope: Envelope): void {
    const line = encodeLine(envelope)
    this.#text += line
    this.#envelopes.push(envelope)
    this.#lengths.push(line.length)
  }

  /** What to write. Good until something is added. */
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

/** Enough to make a write worth its while; a loop that appends without a pause is written in pieces of this size. */
const FULL_CHARS = 64 * 1024
const START_BYTES = 256 * 1024
/** One huge tool result must not keep its memory for the rest of the session. */
const MAX_KEPT_BYTES = 1024 * 1024
/** UTF-8 of one UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3
