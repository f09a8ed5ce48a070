import type { LineRecord } from '@chirality/core'

/**
 * A flood of lines is told by its beginning and its end, and by how many are in between; the file has all of it. A program may
 * print a hundred lines a second, and each costs a row of a log.
 */
export class FewLines {
  #since = Number.NEGATIVE_INFINITY
  #told = 0
  #left = 0
  /** The last that were not told. */
  #held: LineRecord[] = []

  push(records: LineRecord[]): LineRecord[] {
    const now = performance.now()
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now
      this.#told = 0
    }
    const room = Math.max(0, LINES_A_WINDOW - this.#told)
    const told = room > 0 && records.length > 0 ? [...this.end(), ...records.slice(0, room)] : []
    this.#told += told.length
    const held = [...this.#held, ...records.slice(room)]
    this.#left += Math.max(0, held.length - LAST_LINES)
    this.#held = held.slice(-LAST_LINES)
    return told
  }

  /** What is left to tell. */
  end(): LineRecord[] {
    const held = this.#held
    const text = `[${this.#left} more ${this.#left === 1 ? 'line' : 'lines'}, see the stderr log]`
    const between: LineRecord = { kind: 'line', text, bytes: text.length, offset: held[0]?.offset ?? 0 }
    const records = this.#left === 0 ? held : [between, ...held]
    this.#left = 0
    this.#held = []
    return records
  }
}

const WINDOW_MS = 1000
const LINES_A_WINDOW = 100
const LAST_LINES = 25
