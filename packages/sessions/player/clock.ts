import type { Envelope } from '@chirality/core'

/** When each event is due, in milliseconds of the replay at its own speed. Long silences are cut short. */
export class ReplayClock {
  readonly #due: number[] = []

  constructor(envelopes: readonly Envelope[]) {
    let due = 0
    let before = Number.NaN
    for (const { at } of envelopes) {
      const time = Date.parse(at)
      const gap = time - before
      if (gap > 0) due += Math.min(gap, MAX_GAP_MS)
      if (!Number.isNaN(time)) before = time
      this.#due.push(due)
    }
  }

  /** When the replay is that far. */
  timeOf(count: number): number {
    return count <= 0 ? 0 : (this.#due[Math.min(count, this.#due.length) - 1] ?? 0)
  }

  /** How many events are due by then. */
  countAt(time: number): number {
    let low = 0
    let high = this.#due.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#due[middle] ?? 0) <= time) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Long enough to feel like waiting, too short to be one. */
const MAX_GAP_MS = 2000
