/** Tells each time another `limitMs` have passed without output. */
export class Silence {
  readonly #limitMs: number | undefined
  #since = performance.now()
  #told = 0

  constructor(limitMs: number | undefined) {
    this.#limitMs = limitMs
  }

  reset(): void {
    this.#since = performance.now()
    this.#told = 0
  }

  remainingMs(): number | undefined {
    if (this.#limitMs === undefined) return undefined
    return Math.max(0, this.#since + this.#limitMs * (this.#told + 1) - performance.now())
  }

  take(): number | undefined {
    if (this.remainingMs() !== 0) return undefined
    this.#told += 1
    return Math.round(performance.now() - this.#since)
  }
}
