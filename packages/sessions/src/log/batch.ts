import { crc32 } from 'node:zlib'
import type { Envelope } from '@chirality/core'
import { encodeLine } from './envelope-line.ts'

/** Lines that have their number and wait to be written together. */
export class Batch {
  #bytes = Buffer.allocUnsafe(START_BYTES)
  #used = 0
  #envelopes: Envelope[] = []
  #lines: { length: number; crc: number }[] = []
  /** Whether one of them must not wait for the next sync. */
  urgent = false

  get count(): number {
    return this.#envelopes.length
  }

  get isFull(): boolean {
    return this.#used >= FULL_BYTES
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#used)
  }

  get envelopes(): Envelope[] {
    return this.#envelopes
  }

  get lines(): readonly { length: number; crc: number }[] {
    return this.#lines
  }

  /** Throws when the event cannot be written as JSON. */
  add(envelope: Envelope): void {
    const line = encodeLine(envelope)
    this.#reserve(line.length * MAX_BYTES_PER_UNIT)
    const length = this.#bytes.write(line, this.#used)
    const crc = crc32(this.#bytes.subarray(this.#used, this.#used + length))
    this.#used += length
    this.#envelopes.push(envelope)
    this.#lines.push({ length, crc })
  }

  clear(): void {
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(START_BYTES)
    this.#used = 0
    this.#envelopes = []
    this.#lines = []
    this.urgent = false
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#used + bytes))
    this.#bytes.copy(larger, 0, 0, this.#used)
    this.#bytes = larger
  }
}

/** Enough to make a write worth its while; a loop that appends without a pause is written in pieces of this size. */
const FULL_BYTES = 64 * 1024
const START_BYTES = 128 * 1024
/** One huge tool result must not keep its memory for the rest of the session. */
const MAX_KEPT_BYTES = 1024 * 1024
/** UTF-8 of one UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3
