import { type Envelope, initialSessionState, reduceSession, type SessionState } from '@chirality/core'

/** The state after any number of events. Some states are kept, so that going back is cheap however long the session is. */
export class Timeline {
  readonly #envelopes: readonly Envelope[]
  readonly #kept: SessionState[]
  readonly #spacing: number
  #position = 0
  #state: SessionState

  constructor(sessionId: string, envelopes: readonly Envelope[]) {
    this.#envelopes = envelopes
    this.#state = initialSessionState(sessionId)
    this.#kept = [this.#state]
    this.#spacing = Math.max(MIN_SPACING, Math.ceil(envelopes.length / MAX_KEPT))
  }

  stateAfter(count: number): SessionState {
    const target = Math.max(0, Math.min(count, this.#envelopes.length))
    if (target < this.#position) this.#goBack(target)
    while (this.#position < target) {
      const next = Math.min(target, (Math.floor(this.#position / this.#spacing) + 1) * this.#spacing)
      this.#state = reduceSession(this.#state, this.#envelopes.slice(this.#position, next))
      this.#position = next
      if (next % this.#spacing === 0) this.#kept[next / this.#spacing] ??= this.#state
    }
    return this.#state
  }

  #goBack(target: number): void {
    const index = Math.min(Math.floor(target / this.#spacing), this.#kept.length - 1)
    this.#position = index * this.#spacing
    this.#state = this.#kept[index] as SessionState
  }
}

const MIN_SPACING = 200
const MAX_KEPT = 64

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
