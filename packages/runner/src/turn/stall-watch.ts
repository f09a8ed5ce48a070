export interface StallWatchOptions {
  stallMs: number
  /** The silence is not the agent's: a person is asked, or it has answered. */
  isExpected(): boolean
  onStall(idleMs: number): void
}

/** Tells when nothing came from an agent for a while, and again after each further while. */
export class StallWatch {
  readonly #silence: Silence
  readonly #timer: NodeJS.Timeout

  constructor({ stallMs, isExpected, onStall }: StallWatchOptions) {
    this.#silence = new Silence(stallMs)
    this.#timer = setInterval(
      () => {
        const idleMs = this.#silence.take()
        if (idleMs !== undefined && !isExpected()) onStall(idleMs)
      },
      Math.min(stallMs, CHECK_MS),
    )
  }

  /** Something came. */
  reset(): void {
    this.#silence.reset()
  }

  end(): void {
    clearInterval(this.#timer)
  }
}

const CHECK_MS = 1_000

/** Tells each time another `limitMs` have passed without output. */
class Silence {
  readonly #limitMs: number
  #since = performance.now()
  #told = 0

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  reset(): void {
    this.#since = performance.now()
    this.#told = 0
  }

  take(): number | undefined {
    const silentMs = performance.now() - this.#since
    if (silentMs < this.#limitMs * (this.#told + 1)) return undefined
    this.#told += 1
    return Math.round(silentMs)
  }
}
