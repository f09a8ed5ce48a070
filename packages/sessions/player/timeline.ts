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
