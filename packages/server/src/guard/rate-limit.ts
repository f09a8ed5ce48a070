export interface RateLimitOptions {
  /** How many at once. */
  burst: number
  perSecond: number
  /** A monotonic clock, in milliseconds. */
  now?: () => number
}

/** A token bucket that fills steadily; each request takes one token, and is refused without one. */
export class RateLimit {
  readonly #options: Required<RateLimitOptions>
  #drops: number
  #filledAt: number

  constructor(options: RateLimitOptions) {
    this.#options = { now: () => performance.now(), ...options }
    this.#drops = options.burst
    this.#filledAt = this.#options.now()
  }

  take(cost = 1): boolean {
    const { burst, perSecond, now } = this.#options
    const time = now()
    this.#drops = Math.min(burst, this.#drops + ((time - this.#filledAt) / 1000) * perSecond)
    this.#filledAt = time
    if (this.#drops < cost) return false
    this.#drops -= cost
    return true
  }
}
