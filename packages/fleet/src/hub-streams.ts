import { setTimeout as sleep } from 'node:timers/promises'
import { readCursor } from './engine/fleet-files.ts'
import type { Follower, Handler } from './engine/follower.ts'
import type { Link } from './engine/link.ts'
import { SavedText } from './engine/saved-text.ts'

export interface HubStreamsOptions {
  link: Link
  /** File with the stream position that this hub has read up to. */
  cursorFile: string
  /** Handles bytes of logs. */
  onEvents: Handler
  /** The part of the read position whose bytes are safely on this hub's disk. */
  safeCursor: (cursor: number) => number
  onState: Handler
  onFault: ((error: unknown) => void) | undefined
}

/** Keeps and reads the streams on a hub. Makes them anew when the brokers lost their disks. */
export class HubStreams {
  readonly #options: HubStreamsOptions
  readonly #events: Follower
  readonly #state: Follower
  readonly #cursor: SavedText
  readonly #saving: NodeJS.Timeout
  #nextRepair = 0

  private constructor(options: HubStreamsOptions) {
    const { link, cursorFile, onEvents, onState, safeCursor } = options
    this.#options = options
    this.#events = link.follow('events', readCursor(cursorFile) + 1, onEvents)
    this.#state = link.follow('state', 'last-of-each', onState)
    this.#cursor = new SavedText(cursorFile, () => String(safeCursor(this.#events.cursor)))
    this.#saving = setInterval(() => void this.#save(), SAVE_MS)
  }

  /** Makes the streams, or leaves that to `repair` while nothing can be stored. Undefined if it was aborted. */
  static async open(options: HubStreamsOptions, signal: AbortSignal): Promise<HubStreams | undefined> {
    while (!signal.aborted) {
      try {
        await options.link.prepare()
        return new HubStreams(options)
      } catch (error) {
        options.onFault?.(error)
        if (options.link.fault !== undefined) return new HubStreams(options)
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
      }
    }
    return undefined
  }

  /** Makes the streams anew if nothing can be stored. Runs in the background. */
  repair(): void {
    const { link } = this.#options
    if (link.fault === undefined || performance.now() < this.#nextRepair) return
    this.#nextRepair = performance.now() + REPAIR_MS
    void link.prepare().catch(() => {})
  }

  async close(): Promise<void> {
    clearInterval(this.#saving)
    await this.#events.close()
    await this.#state.close()
    await this.#save()
  }

  #save(): Promise<void> {
    return this.#cursor.save().catch(error => this.#options.onFault?.(error))
  }
}

const AGAIN_MS = 1_000
const SAVE_MS = 1_000
const REPAIR_MS = 3_000
