export interface GroupSyncOptions {
  /** Waits until the data is on the disk. */
  sync: () => Promise<void>
  onSynced: (seq: number) => void
  onError: (error: unknown) => void
  /** The delay before an ordinary event is synced. With many active logs it is longer, see `syncDelay`. */
  delayMs: number
}

/** A crash of the machine loses at most this many events, plus those of the running sync. */
const MAX_UNSYNCED_EVENTS = 64

/** Syncs once for many events: soon after the first of them, or at once if one of them is urgent. */
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

  /** The last `seq` that is on the disk. */
  get syncedSeq(): number {
    return this.#synced
  }

  /** Everything up to `seq` was written to the operating system. */
  wrote(seq: number, urgent: boolean): void {
    this.#written = seq
    if (this.#stopped) return
    if (urgent || this.#waiting.length > 0 || seq - this.#synced >= MAX_UNSYNCED_EVENTS) this.#start()
    else this.#startLater()
  }

  /** Resolves when everything up to `seq` is on the disk; rejects if the sync fails. */
  whenSynced(seq: number): Promise<void> {
    if (seq <= this.#synced) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ seq, resolve, reject })
      this.#start()
    })
  }

  /** Everything up to `seq` reached the disk in another way. */
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

  /** Starts no further sync, and waits for the running one: its file must not be closed before. */
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

/** The logs of this process that have a pending sync. */
let waitingLogs = 0

/** One sync takes about 0.1 ms of CPU. Two hundred logs that sync every 50 ms would need half a core. */
const MS_PER_LOG = 10
const MAX_DELAY_MS = 1000

function syncDelay(delayMs: number): number {
  return Math.max(delayMs, Math.min(waitingLogs * MS_PER_LOG, MAX_DELAY_MS))
}
