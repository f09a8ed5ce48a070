import type { LineIndex } from './line-index.ts'

/**
 * Which lines of a log are JSON for sure, if their checksums are right: those that were written through this index, and those
 * from the first on that were parsed once.
 */
export class KnownLines {
  #index: LineIndex
  #writtenFrom: number
  #parsedTo = 0

  constructor(index: LineIndex) {
    this.#index = index
    this.#writtenFrom = index.count + 1
  }

  has(index: LineIndex, from: number, to: number): boolean {
    this.#follow(index)
    const isParsed = to <= this.#parsedTo
    return isParsed || from >= this.#writtenFrom || (from <= this.#parsedTo + 1 && this.#meet)
  }

  parsed(index: LineIndex, from: number, to: number): void {
    this.#follow(index)
    if (from <= this.#parsedTo + 1) this.#parsedTo = Math.max(this.#parsedTo, to)
  }

  /** All lines are known: the parsed ones reach to those that were written. */
  get #meet(): boolean {
    return this.#writtenFrom <= this.#parsedTo + 1
  }

  /** An index that was made anew has the checksums of whatever stands in the file. */
  #follow(index: LineIndex): void {
    if (index === this.#index) return
    this.#index = index
    this.#writtenFrom = index.count + 1
    this.#parsedTo = 0
  }
}
