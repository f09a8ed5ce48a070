import { HarnessError, hasCode, type TurnEndReason } from '@chirality/core'
import { notice } from '../log/turn-events.ts'
import type { MessageQueue } from '../queue/message-queue.ts'
import type { QueuedMessage } from '../queue/queued-message.ts'
import type { SessionRecorder } from '../turns/record/session-recorder.ts'
import type { SteeredMessages } from './steered-messages.ts'

export interface SendQueueOptions {
  sessionId: string
  queue: MessageQueue
  recorder: SessionRecorder
  steered: SteeredMessages
  /** Whether a turn can start now. */
  isFree: () => boolean
  start: (message: QueuedMessage) => Promise<unknown>
}

/** Sends queued messages, one turn after the other, and pauses when a turn fails. */
export class SendQueue {
  readonly #options: SendQueueOptions
  /** Sent, but not removed from the file: it must not be sent a second time, nor block the others. */
  #untold: string | undefined

  constructor(options: SendQueueOptions) {
    this.#options = options
  }

  /** After a turn that failed or was stopped, queued messages may make no sense any more, so a person decides. */
  async after(reason: TurnEndReason): Promise<void> {
    const { queue, steered } = this.#options
    await steered.takeBack().catch((error: unknown) => this.#tell(error))
    if (queue.list().length === 0) return
    if (reason === 'completed') await this.next()
    else await queue.hold().catch((error: unknown) => this.#tell(error))
  }

  /** Never rejects, because its callers do not await it. */
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
      // Somebody was faster; its turn comes after that one. A harness that is busy has no turn of ours that would end.
      const hold = !hasCode(error, 'busy') || error instanceof HarnessError
      await queue.notSent({ hold })
      if (hold) await this.#tell(error)
      return
    }
    // Removed only now: after a crash before this point, the log shows that it was sent.
    this.#untold = message.id
    await this.#markSent().catch(() => {})
  }

  /** A failure here is retried before the next message is sent. */
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
