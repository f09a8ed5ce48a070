import { type FSWatcher, fstatSync, readSync, watch } from 'node:fs'

export interface TailOptions {
  fd: number
  path: string
  /** Called when there may be something to read. May be called when there is nothing. */
  onWake: () => void
  /** `false` leaves it all to the poll, as on file systems that send no events. */
  watch?: boolean
  /** Where to begin. Default: at the beginning. */
  offset?: number
}

/** What happened to the file under the reader. Reading goes on. */
export type FileDamage = 'deleted' | 'truncated'

/**
 * Reads a growing file. Nothing is read ahead: the file is the buffer, so a slow reader costs no memory and holds
 * nobody up.
 */
export class Tail {
  readonly #fd: number
  readonly #onWake: () => void
  #offset: number
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** The poll found what the watcher had not announced. The next announcement clears it. */
  #watchMissed: boolean
  #announced = false
  #sizeAtPoll = 0
  #idlePolls = 0
  #deleted = false

  constructor(options: TailOptions) {
    this.#fd = options.fd
    this.#offset = options.offset ?? 0
    this.#onWake = options.onWake
    this.#watchMissed = options.watch === false || !this.#startWatching(options.path)
    this.#schedulePoll()
  }

  /** Fills `buffer` with what is new and returns how many bytes that is; 0 at the end of the file. */
  read(buffer: Uint8Array): number {
    const bytes = readSync(this.#fd, buffer, 0, buffer.length, this.#offset)
    this.#offset += bytes
    return bytes
  }

  /** Looks whether someone deleted or cut the file. Each deletion and each cut is reported once. */
  inspect(): FileDamage | undefined {
    const { size, nlink } = fstatSync(this.#fd)
    if (size < this.#offset) {
      this.#offset = 0
      return 'truncated'
    }
    if (nlink > 0 || this.#deleted) return undefined
    this.#deleted = true
    return 'deleted'
  }

  /** Stops waking. Reading still works. */
  close(): void {
    this.#closed = true
    this.#watcher?.close()
    this.#watcher = undefined
    clearTimeout(this.#timer)
  }

  #startWatching(path: string): boolean {
    try {
      const watcher = watch(path, () => {
        this.#announced = true
        this.#watchMissed = false
        this.#onWake()
      })
      // Out of inotify watches, or the file system took them back.
      watcher.on('error', () => {
        watcher.close()
        this.#watcher = undefined
        this.#watchMissed = true
      })
      this.#watcher = watcher
      return true
    } catch {
      return false
    }
  }

  /** Watching says nothing on some network and container file systems, so a slow poll checks on it. */
  #schedulePoll(): void {
    if (this.#closed) return
    const delay = this.#watchMissed
      ? Math.min(FAST_POLL_MS * (1 + this.#idlePolls), IDLE_POLL_MS)
      : SAFETY_POLL_MS
    this.#timer = setTimeout(() => this.#poll(), delay)
  }

  #poll(): void {
    const { size, nlink } = fstatSync(this.#fd)
    const grew = size !== this.#sizeAtPoll
    if (grew && !this.#announced) this.#watchMissed = true
    this.#idlePolls = grew ? 0 : this.#idlePolls + 1
    this.#sizeAtPoll = size
    this.#announced = false
    if (size !== this.#offset || (nlink === 0 && !this.#deleted)) this.#onWake()
    this.#schedulePoll()
  }
}

const SAFETY_POLL_MS = 250
const FAST_POLL_MS = 10
const IDLE_POLL_MS = 100
