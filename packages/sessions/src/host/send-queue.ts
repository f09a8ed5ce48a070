import type { TurnEndReason } from '@chirality/core'
import { notice } from '../log/turn-events.ts'
import type { MessageQueue } from '../queue/message-queue.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import { SessionBusyError } from '../session-errors.ts'
import type { SessionRecorder } from '../turns/record/session-recorder.ts'
import type { SteeredMessages } from './steered-messages.ts'

export interface SendQueueOptions {
  sessionId: string
  queue: MessageQueue
  recorder: SessionRecorder
  steered: SteeredMessages
  /** No turn is in the way. */
  isFree: () => boolean
  start: (message: QueuedMessage) => Promise<unknown>
}

/** Sends what waits, one turn after the other, and stops when one does not go well. */
export class SendQueue {
  readonly #options: SendQueueOptions
  /** Sent, but the file could not be told: it must not go a second time, nor keep the others waiting. */
  #untold: string | undefined

  constructor(options: SendQueueOptions) {
    this.#options = options
  }

  /** After a turn that failed or was stopped, follow-ups may make no sense any more: a person decides. */
  async after(reason: TurnEndReason): Promise<void> {
    const { queue, steered } = this.#options
    await steered.takeBack().catch((error: unknown) => this.#tell(error))
    if (queue.list().length === 0) return
    if (reason === 'completed') await this.next()
    else await queue.hold().catch((error: unknown) => this.#tell(error))
  }

  /** Never rejects: whoever lets the queue go on does not wait for it. */
  async next(): Promise<void> {
    if (this.#options.isFree()) await this.#sendFirst().catch((error: unknown) => this.#tell(error))
  }

  async #sendFirst(): Promise<void> {
    const { queue, start } = this.#options
    await this.#markSent()
    const message = await queue.take()
    if (message === undefined) return
    try {
      await start(message)
    } catch (error) {
      // Somebody was faster; its turn comes after that one.
      const hold = !(error instanceof SessionBusyError)
      await queue.notSent({ hold })
      if (hold) await this.#tell(error)
      return
    }
    // Only now: had we died before, the log would have told that it was sent.
    this.#untold = message.id
    await this.#markSent().catch(() => {})
  }

  /** What fails here is tried again before the next message goes. */
  async #markSent(): Promise<void> {
    if (this.#untold === undefined) return
    await this.#options.queue.sent(this.#untold)
    this.#untold = undefined
  }

  async #tell(error: unknown): Promise<void> {
    const { sessionId, recorder } = this.#options
    const why = error instanceof Error ? error.message : String(error)
    try {
      await recorder.record([notice(sessionId, `The next message in the queue was not sent. ${why}`)], null)
      await recorder.flush()
    } catch {
      // The session is being closed or deleted.
    }
  }
}
