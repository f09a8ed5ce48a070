import { setTimeout as sleep } from 'node:timers/promises'
import type { Consumer, ConsumerMessages } from '@nats-io/jetstream'

export interface StoredMessage {
  subject: string
  seq: number
  headers: Record<string, string>
  body: Uint8Array
}

/**
 * Handles messages one at a time; a message whose handler throws is delivered again. `isLive` is false for a message
 * that may have been stored before this reader listened or while it was disconnected.
 */
export type Handler = (message: StoredMessage, isLive: boolean) => Promise<void>

interface FollowerSource {
  isConnected: () => boolean
  onConnected: (listener: (connected: boolean) => void) => () => void
  /** Number of the last message, and the time at which the stream was made. */
  end: () => Promise<{ seq: number; created: string }>
  /** Reads the messages after a number. */
  consumer: (after: number) => Promise<Consumer>
}

/**
 * Reads a stream until it is closed. Consumers of brokers have fallen silent without an error, so the cursor is
 * compared with the end of the stream, and a silent consumer is replaced.
 */
export class Follower {
  readonly #source: FollowerSource
  readonly #handler: Handler
  readonly #watchdog: NodeJS.Timeout
  readonly #unsubscribe: () => void
  #cursor: number
  #created: string | undefined
  /** The last message that was stored before this reader listened. */
  #storedTo = Number.POSITIVE_INFINITY
  #heardAtLastLook = -1
  #messages: ConsumerMessages | undefined
  #closed = false
  readonly #ended: Promise<void>
  /** How often a silent consumer was replaced. */
  restarts = 0

  constructor(from: number | 'last-of-each', handler: Handler, source: FollowerSource) {
    this.#source = source
    this.#handler = handler
    this.#cursor = from === 'last-of-each' ? 0 : Math.max(0, from - 1)
    this.#watchdog = setInterval(() => void this.#look().catch(() => {}), LOOK_MS)
    this.#watchdog.unref()
    this.#unsubscribe = source.onConnected(connected => {
      this.#storedTo = Number.POSITIVE_INFINITY
      if (connected) void this.#markStored().catch(() => {})
    })
    this.#ended = this.#run()
  }

  /** Number of the last message that was handled. */
  get cursor(): number {
    return this.#cursor
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#unsubscribe()
    clearInterval(this.#watchdog)
    this.#messages?.stop()
    await this.#ended
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#markStored()
        const consumer = await this.#source.consumer(this.#cursor)
        this.#messages = await consumer.consume({ max_messages: 256 })
        if (this.#closed) this.#messages.stop()
        for await (const message of this.#messages) {
          if (this.#closed) break
          if (message.seq <= this.#cursor) continue
          const named = (message.headers?.keys() ?? []).map(key => [key, message.headers?.get(key) ?? ''])
          await this.#handler(
            {
              subject: message.subject,
              seq: message.seq,
              body: message.data,
              headers: Object.fromEntries(named),
            },
            message.seq > this.#storedTo,
          )
          this.#cursor = message.seq
        }
      } catch {
        // The broker is away, or the handler failed: read again from the cursor.
      }
      this.#messages?.stop()
      if (!this.#closed) await sleep(AGAIN_MS)
    }
  }

  async #markStored(): Promise<void> {
    this.#storedTo = await this.#end()
  }

  /**
   * Number of the last message. A stream that was made anew, after its brokers lost their disks, counts from 1 again,
   * so the cursor is reset.
   */
  async #end(): Promise<number> {
    const { seq, created } = await this.#source.end()
    if (this.#created !== undefined && created !== this.#created) this.#cursor = 0
    this.#created = created
    return seq
  }

  async #look(): Promise<void> {
    if (this.#closed || !this.#source.isConnected()) return
    if (this.#storedTo === Number.POSITIVE_INFINITY) await this.#markStored()
    const before = this.#cursor
    const isSilent = before === this.#heardAtLastLook
    this.#heardAtLastLook = before
    if (!isSilent) return
    const last = await this.#end()
    if (last === this.#cursor || (this.#cursor !== before && this.#cursor !== 0)) return
    // The stream is another one than before this reader reconnected.
    if (last < this.#cursor) this.#cursor = 0
    this.restarts += 1
    this.#messages?.stop()
  }
}

const LOOK_MS = 2_000
const AGAIN_MS = 250
