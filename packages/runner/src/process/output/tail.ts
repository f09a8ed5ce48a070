import { type FSWatcher, fstatSync, readSync, watch } from 'node:fs'
import { Pulse } from './pulse.ts'

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
 * nobody up. It is watched, and what is new is announced at once; where many files grow all the time, those are looked at in a
 * pulse that they share.
 */
export class Tail {
  readonly #fd: number
  readonly #path: string
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
  #suspect = false
  #changedAt = Number.NEGATIVE_INFINITY
  #changesInRow = 0
  #isPulsing = false
  #offsetAtPulse = 0
  #idlePulses = 0

  constructor(options: TailOptions) {
    this.#fd = options.fd
    this.#path = options.path
    this.#offset = options.offset ?? 0
    this.#onWake = options.onWake
    this.#watchMissed = options.watch === false || !this.#startWatching()
    this.#schedulePoll()
  }

  /** Fills `buffer` with what is new and returns how many bytes that is; 0 at the end of the file. */
  read(buffer: Uint8Array): number {
    const bytes = readSync(this.#fd, buffer, 0, buffer.length, this.#offset)
    this.#offset += bytes
    return bytes
  }

  /** It looks as if someone deleted or cut the file: `inspect` it. */
  get isSuspect(): boolean {
    return this.#suspect
  }

  /** Looks whether someone deleted or cut the file. Each deletion and each cut is reported once. */
  inspect(): FileDamage | undefined {
    this.#suspect = false
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
    this.#stopWatching()
    hotFiles.pulse.remove(this.#onPulse)
    hotFiles.remove(this)
    clearTimeout(this.#timer)
  }

  #stopWatching(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }

  #startWatching(): boolean {
    try {
      const watcher = watch(this.#path, () => this.#onChange())
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

  #onChange(): void {
    this.#announced = true
    this.#watchMissed = false
    const now = performance.now()
    this.#changesInRow = now - this.#changedAt < HOT_GAP_MS ? this.#changesInRow + 1 : 0
    this.#changedAt = now
    const isHot = this.#changesInRow >= HOT_CHANGES && !this.#closed
    if (isHot) hotFiles.add(this)
    else hotFiles.remove(this)
    if (isHot && hotFiles.areMany) this.#startPulsing()
    this.#onWake()
  }

  #startPulsing(): void {
    if (this.#isPulsing) return
    this.#isPulsing = true
    this.#stopWatching()
    this.#idlePulses = 0
    this.#offsetAtPulse = this.#offset
    hotFiles.pulse.add(this.#onPulse)
  }

  readonly #onPulse = (): void => {
    this.#announced = true
    this.#idlePulses = this.#offset === this.#offsetAtPulse ? this.#idlePulses + 1 : 0
    this.#offsetAtPulse = this.#offset
    if (this.#idlePulses >= COLD_PULSES) hotFiles.remove(this)
    if (this.#idlePulses >= COLD_PULSES || !hotFiles.areMany) this.#stopPulsing()
    // The last time, too: something may have come before the file was watched again.
    this.#onWake()
  }

  #stopPulsing(): void {
    this.#isPulsing = false
    this.#changesInRow = 0
    hotFiles.pulse.remove(this.#onPulse)
    if (!this.#startWatching()) this.#watchMissed = true
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
    // It says nothing any more, and so would never take itself off.
    if (!grew && !this.#isPulsing) hotFiles.remove(this)
    this.#announced = false
    this.#suspect = size < this.#offset || (nlink === 0 && !this.#deleted)
    if (this.#suspect || (size !== this.#offset && !this.#isPulsing)) this.#onWake()
    this.#schedulePoll()
  }
}

/** So many changes, each so soon after the one before, and it grows all the time. */
const HOT_CHANGES = 3
const HOT_GAP_MS = 20
const COLD_PULSES = 8

const SAFETY_POLL_MS = 250
const FAST_POLL_MS = 10
const IDLE_POLL_MS = 100

/**
 * The files that grow all the time. Each of a few is announced line by line, at once; of many, the announcements would cost more
 * than the lines.
 */
class HotFiles {
  /** In which many are looked at. */
  readonly pulse = new Pulse()
  readonly #files = new Set<object>()

  get areMany(): boolean {
    return this.#files.size > FEW
  }

  add(file: object): void {
    this.#files.add(file)
  }

  remove(file: object): void {
    this.#files.delete(file)
  }
}

/** As many as a person follows at the same time. */
const FEW = 4

const hotFiles = new HotFiles()
