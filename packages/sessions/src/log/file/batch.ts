import { crc32 } from 'node:zlib'
import type { Envelope } from '@chirality/core'
import { encodeLine } from '../envelope-line.ts'
import { StoredTexts } from '../stored-texts.ts'

/** The lines of a batch, each with its newline. */
export interface WrittenLines {
  lines: string
  /** The first event that a reference in the lines points to, if there is one. */
  refersTo?: number
  /** How many characters the references stand for. */
  omitted: number
}

/** Numbered lines that wait to be written together. They are encoded in one call, which is twice as fast. */
export class Batch {
  readonly #texts = new StoredTexts()
  #text = ''
  #omitted = 0
  #refersTo: number | undefined
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

  get written(): WrittenLines {
    const refersTo = this.#refersTo
    return { lines: this.#text, omitted: this.#omitted, ...(refersTo !== undefined && { refersTo }) }
  }

  /** Throws if the event cannot be serialised as JSON. */
  add(envelope: Envelope): void {
    const { envelope: stored, ref } = this.#texts.stored(envelope)
    let line: string
    try {
      line = encodeLine(stored)
    } catch (error) {
      this.#texts.forget()
      throw error
    }
    if (ref !== undefined) {
      this.#refersTo = Math.min(this.#refersTo ?? ref.from, ref.from)
      this.#omitted += ref.chars
    }
    this.#envelopes.push(envelope)
    this.#addLine(line)
  }

  /** Refers to no line that was written before: they may no longer be in the file. */
  storeWhole(): void {
    this.#texts.forget()
    this.#resetLines()
    for (const envelope of this.#envelopes) this.#addLine(encodeLine(envelope))
  }

  #addLine(line: string): void {
    this.#text += line
    this.#lengths.push(line.length)
  }

  #resetLines(): void {
    this.#text = ''
    this.#lengths = []
    this.#omitted = 0
    this.#refersTo = undefined
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
    this.#resetLines()
    this.#envelopes = []
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
