import { type FSWatcher, fstatSync, readSync, watch } from 'node:fs'
import { Pulse } from './pulse.ts'

export interface TailOptions {
  fd: number
  path: string
  /** Called when there may be data to read. May also be called when there is none. */
  onWake: () => void
  /** `false` relies on the poll alone, as on file systems that send no change events. */
  watch?: boolean
  /** Offset to begin at. Default 0. */
  offset?: number
}

/** The damage to the file under the reader. Reading goes on. */
export type FileDamage = 'deleted' | 'truncated'

/**
 * Reads a growing file. Nothing is read ahead: the file is the buffer, so a slow reader uses no memory and blocks no
 * writer. A file watcher announces new data at once; if many files grow continuously, they are read on one shared
 * timer.
 */
export class Tail {
  readonly #fd: number
  readonly #path: string
  readonly #onWake: () => void
  #offset: number
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** The poll found data that the watcher had not announced. The next announcement clears it. */
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

  /** Fills `buffer` with new data and returns the number of bytes; 0 at the end of the file. */
  read(buffer: Uint8Array): number {
    const bytes = readSync(this.#fd, buffer, 0, buffer.length, this.#offset)
    this.#offset += bytes
    return bytes
  }

  /** The file may have been deleted or truncated: call `inspect`. */
  get isSuspect(): boolean {
    return this.#suspect
  }

  /** Checks whether the file was deleted or truncated. Each deletion and truncation is reported once. */
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

  /** Stops the wake-ups. Reading still works. */
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
      // No inotify watches are left, or the file system removed this one.
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
    // Also after the last beat: data may have arrived before the file was watched again.
    this.#onWake()
  }

  #stopPulsing(): void {
    this.#isPulsing = false
    this.#changesInRow = 0
    hotFiles.pulse.remove(this.#onPulse)
    if (!this.#startWatching()) this.#watchMissed = true
  }

  /** Watchers report nothing on some network and container file systems, so a slow poll checks the file too. */
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
    // A silent file would never remove itself from the hot files.
    if (!grew && !this.#isPulsing) hotFiles.remove(this)
    this.#announced = false
    this.#suspect = size < this.#offset || (nlink === 0 && !this.#deleted)
    if (this.#suspect || (size !== this.#offset && !this.#isPulsing)) this.#onWake()
    this.#schedulePoll()
  }
}

/** After this many changes in quick succession, a file counts as growing continuously. */
const HOT_CHANGES = 3
const HOT_GAP_MS = 20
const COLD_PULSES = 8

const SAFETY_POLL_MS = 250
const FAST_POLL_MS = 10
const IDLE_POLL_MS = 100

/**
 * The files that grow continuously. A few of them are announced line by line, at once; for many, the announcements
 * would cost more than the lines.
 */
class HotFiles {
  /** The timer on which many files are read. */
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

/** As many agents as a person follows at the same time. */
const FEW = 4

const hotFiles = new HotFiles()
