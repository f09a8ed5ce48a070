export interface GroupSyncOptions {
  /** Waits for the disk. */
  sync: () => Promise<void>
  onSynced: (seq: number) => void
  onError: (error: unknown) => void
  /** How late the disk may have an ordinary event. With many logs at work it has them later, see `syncDelay`. */
  delayMs: number
}

/** A crash of the machine takes along this many events at most, plus those of the sync that was under way. */
const MAX_UNSYNCED_EVENTS = 64

/** Waits for the disk once for many events: soon after the first of them, at once when one of them matters. */
export class GroupSync {
  readonly #options: GroupSyncOptions
  #written = 0
  #synced = 0
  #running: Promise<void> | undefined
  #wanted = false
  #stopped = false
  #timer: NodeJS.Timeout | undefined
  #waiting: { seq: number; resolve: () => void; reject: (error: unknown) => void }[] = []

  constructor(options: GroupSyncOptions) {
    this.#options = options
  }

  /** The disk has everything up to here. */
  get syncedSeq(): number {
    return this.#synced
  }

  /** Everything up to `seq` is with the operating system. */
  wrote(seq: number, urgent: boolean): void {
    this.#written = seq
    if (this.#stopped) return
    if (urgent || this.#waiting.length > 0 || seq - this.#synced >= MAX_UNSYNCED_EVENTS) this.#start()
    else this.#startLater()
  }

  /** Resolves when everything up to `seq` is on the disk; rejects when that turns out not to be possible now. */
  whenSynced(seq: number): Promise<void> {
    if (seq <= this.#synced) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ seq, resolve, reject })
      this.#start()
    })
  }

  /** The disk has everything up to `seq`, by other means. */
  settle(seq: number): void {
    this.#synced = Math.max(this.#synced, seq)
    const done = this.#waiting.filter(waiter => waiter.seq <= this.#synced)
    this.#waiting = this.#waiting.filter(waiter => waiter.seq > this.#synced)
    for (const { resolve } of done) resolve()
  }

  giveUp(error: unknown): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { reject } of waiting) reject(error)
  }

  /** Starts nothing more, and waits for what is under way: its file must not be closed before. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#clearTimer()
    await this.#running
  }

  #startLater(): void {
    if (this.#timer !== undefined) return
    waitingLogs += 1
    this.#timer = setTimeout(() => this.#start(), syncDelay(this.#options.delayMs))
  }

  #clearTimer(): void {
    if (this.#timer === undefined) return
    waitingLogs -= 1
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #start(): void {
    this.#clearTimer()
    if (this.#running !== undefined) this.#wanted = true
    else if (this.#written > this.#synced && !this.#stopped) this.#running = this.#run(this.#written)
  }

  async #run(seq: number): Promise<void> {
    this.#wanted = false
    try {
      await this.#options.sync()
    } catch (error) {
      this.#running = undefined
      this.#options.onError(error)
      return
    }
    this.#running = undefined
    this.settle(seq)
    this.#options.onSynced(seq)
    if (this.#written > this.#synced) this.wrote(this.#written, this.#wanted)
  }
}

/** Of all logs of this process, those that will be synced by and by. */
let waitingLogs = 0

/** A sync takes the machine some 0.1 ms. Two hundred logs that all sync every 50 ms would need half a core for it. */
const MS_PER_LOG = 10
const MAX_DELAY_MS = 1000

function syncDelay(delayMs: number): number {
  return Math.max(delayMs, Math.min(waitingLogs * MS_PER_LOG, MAX_DELAY_MS))
}
