export interface StallWatchOptions {
  stallMs: number
  /** The agent is not the cause of the silence: it waits for a person, or has answered. */
  isExpected(): boolean
  onStall(idleMs: number): void
}

/** Reports when an agent has printed nothing for a while, and again after each further interval. */
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

  /** The agent printed something. */
  reset(): void {
    this.#silence.reset()
  }

  end(): void {
    clearInterval(this.#timer)
  }
}

const CHECK_MS = 1_000

/** Reports each time another `limitMs` have passed without output. */
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
