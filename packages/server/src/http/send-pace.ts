/** The end that events are sent through: a WebSocket, or the response of an SSE route. */
export interface Outlet {
  /** Bytes that were handed over and that the other side has not taken. */
  buffered(): number
  /** Called when the other side has taken everything. */
  onDrain(listener: () => void): void
  /** It has taken nothing for too long. */
  giveUp(): void
}

export interface SendPaceOptions {
  /** Shortest time between two flushes; the first one after a rest goes at once. */
  windowMs?: number
  maxBufferedBytes?: number
  stallMs?: number
}

/**
 * When the next batch may be sent. All subscriptions of a connection share one, so that they flush together, and wait
 * together for a reader that is slow: what it has not read stays in the log and not in memory.
 */
export class SendPace {
  readonly #outlet: Outlet
  readonly #windowMs: number
  readonly #maxBufferedBytes: number
  readonly #stallMs: number
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #flushedAt = Number.NEGATIVE_INFINITY
  #progress = { buffered: 0, at: 0 }
  #isFlushing = false
  #closed = false

  constructor(outlet: Outlet, options: SendPaceOptions = {}) {
    this.#outlet = outlet
    this.#windowMs = options.windowMs ?? FLUSH_WINDOW_MS
    this.#maxBufferedBytes = options.maxBufferedBytes ?? MAX_BUFFERED_BYTES
    this.#stallMs = options.stallMs ?? STALL_MS
    outlet.onDrain(() => this.#wake())
  }

  /**
   * Resolves when it is time to send. False when there is nobody left to send to. Whoever has a whole batch ready waits for
   * the reader only: the window is there to collect one.
   */
  async turn({ hasWholeBatch = false } = {}): Promise<boolean> {
    while (!this.#closed && !this.#mayFlush(hasWholeBatch)) {
      await new Promise<void>(resolve => this.#waitWith(resolve))
    }
    return !this.#closed
  }

  close(): void {
    this.#closed = true
    this.#wake()
  }

  #mayFlush(hasWholeBatch: boolean): boolean {
    if (this.#outlet.buffered() > this.#maxBufferedBytes) return false
    if (hasWholeBatch) return true
    if (this.#isFlushing) return true
    const now = performance.now()
    if (now - this.#flushedAt < this.#windowMs) return false
    this.#flushedAt = now
    // Those who were woken together flush together, however long that takes: ticks run when their promises have.
    this.#isFlushing = true
    process.nextTick(() => {
      this.#isFlushing = false
    })
    return true
  }

  #waitWith(resolve: () => void): void {
    this.#waiting.push(resolve)
    if (this.#timer !== undefined) return
    const full = this.#outlet.buffered() > this.#maxBufferedBytes
    const wait = full ? FULL_CHECK_MS : this.#windowMs - (performance.now() - this.#flushedAt)
    this.#timer = setTimeout(() => this.#onTimer(), Math.max(0, Math.ceil(wait)))
  }

  #onTimer(): void {
    this.#timer = undefined
    if (this.#isStalled()) {
      this.#outlet.giveUp()
      this.close()
    } else this.#wake()
  }

  #isStalled(): boolean {
    const buffered = this.#outlet.buffered()
    const now = performance.now()
    if (buffered <= this.#maxBufferedBytes || buffered < this.#progress.buffered || this.#progress.at === 0) {
      this.#progress = { buffered, at: now }
      return false
    }
    this.#progress.buffered = buffered
    return now - this.#progress.at > this.#stallMs
  }

  #wake(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

/** Shorter than the pulse in which busy agents are read: what that brings goes out at once. */
const FLUSH_WINDOW_MS = 4
const MAX_BUFFERED_BYTES = 1024 * 1024
const STALL_MS = 30_000
/** Buffers shrink without a `drain` while more is written behind them. */
const FULL_CHECK_MS = 100
