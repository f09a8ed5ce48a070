/** The connection that events are sent through: a WebSocket, or the response of an SSE route. */
export interface Outlet {
  /** Bytes that were written and not yet sent. */
  buffered(): number
  /** Called when everything was sent. */
  onDrain(listener: () => void): void
  /** The client has read nothing for too long. */
  giveUp(): void
}

export interface SendPaceOptions {
  maxBufferedBytes?: number
  stallMs?: number
}

/**
 * When the next batch may be sent: as soon as the connection has room. The size of a batch was decided where the
 * agent's output was read. All subscriptions of a connection wait together for a slow client: its unread events stay in
 * the log and not in memory.
 */
export class SendPace {
  readonly #outlet: Outlet
  readonly #maxBufferedBytes: number
  readonly #stallMs: number
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #progress = { buffered: 0, at: 0 }
  #closed = false

  constructor(outlet: Outlet, options: SendPaceOptions = {}) {
    this.#outlet = outlet
    this.#maxBufferedBytes = options.maxBufferedBytes ?? MAX_BUFFERED_BYTES
    this.#stallMs = options.stallMs ?? STALL_MS
    outlet.onDrain(() => this.#wake())
  }

  /** Resolves when the next batch may be sent. False if the connection is closed. */
  async turn(): Promise<boolean> {
    while (!this.#closed && this.#isFull) await new Promise<void>(resolve => this.#waitWith(resolve))
    return !this.#closed
  }

  close(): void {
    this.#closed = true
    this.#wake()
  }

  get #isFull(): boolean {
    return this.#outlet.buffered() > this.#maxBufferedBytes
  }

  #waitWith(resolve: () => void): void {
    this.#waiting.push(resolve)
    this.#timer ??= setTimeout(() => this.#onTimer(), FULL_CHECK_MS)
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

const MAX_BUFFERED_BYTES = 1024 * 1024
const STALL_MS = 30_000
/** Buffers shrink without a `drain` event while more is written behind them, so this polls. */
const FULL_CHECK_MS = 100
