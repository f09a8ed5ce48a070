import type { UIEvent } from '@chirality/core'
import type { SessionLog } from '../log/session-log.ts'
import { notice } from '../log/turn-events.ts'
import type { MessageQueue } from '../queue/message-queue.ts'
import type { GivenMessage, QueuedMessage } from '../queue/queued-message.ts'
import type { TurnRequest } from '../queue/turn-request.ts'
import type { SessionRecorder } from '../turns/record/session-recorder.ts'

export interface SteeredMessagesOptions {
  log: SessionLog
  queue: MessageQueue
  recorder: SessionRecorder
}

/**
 * Messages that were sent into the running turn. Agents repeat a message when they take it up, and not before: until
 * then it is on the disk beside the queue, and if it was not taken up by the end of the turn it goes into the queue.
 */
export class SteeredMessages {
  readonly #options: SteeredMessagesOptions
  /** Messages that were taken up, by the log; the file may not show it yet. */
  readonly #taken = new Set<string>()

  constructor(options: SteeredMessagesOptions) {
    this.#options = options
  }

  /**
   * True if the turn has the message, or will have it; otherwise it is first in the queue. It is on the disk before
   * `give` is called.
   */
  async steer(
    message: string,
    request: TurnRequest,
    give: () => Promise<boolean>,
  ): Promise<{ taken: boolean; given: QueuedMessage }> {
    const { queue, log } = this.#options
    const { afterSeq, ...given } = await queue.give(message, request, log.lastSeq)
    // A failed call counts as not sent.
    const taken = await give().catch(() => false)
    if (!taken) await queue.takeBack(new Set([given.id]), { hold: false })
    return { taken, given }
  }

  /** Messages that no agent has taken up yet. */
  list(): QueuedMessage[] {
    return this.#open.map(({ afterSeq: _, ...message }) => message)
  }

  /** Handles an event of the log that says that a message was taken up. */
  note(event: UIEvent): void {
    const text = takenText(event)
    const given = text === undefined ? undefined : this.#open.find(({ message }) => isSame(message, text))
    if (given === undefined) return
    this.#taken.add(given.id)
    // A failure here is repaired at the end of the turn.
    void this.#forgetTaken().catch(() => {})
  }

  /** Reads from the log which messages were taken up, when a session is opened. */
  async recover(): Promise<void> {
    const open = this.#open
    const told = toldAfter(this.#options.log, Math.min(...open.map(({ afterSeq }) => afterSeq)))
    for (const { id, message, afterSeq } of open) {
      const at = told.findIndex(({ seq, text }) => seq > afterSeq && isSame(message, text))
      if (at === -1) continue
      // Of two messages with the same text, each is confirmed once.
      told.splice(at, 1)
      this.#taken.add(id)
    }
    await this.#forgetTaken().catch(() => {})
  }

  /** The turn is over. Messages that its agent did not take up wait for a person, who may not want them any more. */
  async takeBack(): Promise<void> {
    const { queue, recorder, log } = this.#options
    await this.#forgetTaken()
    const open = this.#open
    if (open.length === 0) return
    await queue.takeBack(new Set(open.map(({ id }) => id)), { hold: true })
    await recorder.record([notice(log.sessionId, untaken(open.length))], null)
    await recorder.flush()
  }

  get #open(): GivenMessage[] {
    return this.#options.queue.given.filter(({ id }) => !this.#taken.has(id))
  }

  async #forgetTaken(): Promise<void> {
    if (this.#taken.size === 0) return
    const taken = new Set(this.#taken)
    await this.#options.queue.taken(taken)
    for (const id of taken) this.#taken.delete(id)
  }
}

/** The text of a message that the agent has just taken up. */
function takenText(event: UIEvent): string | undefined {
  if (event.type !== 'status' || event.data?.kind !== 'user_message') return undefined
  return typeof event.data.text === 'string' ? event.data.text : undefined
}

function toldAfter(log: SessionLog, afterSeq: number): { seq: number; text: string }[] {
  const told: { seq: number; text: string }[] = []
  for (let seq = afterSeq; seq < log.lastSeq; ) {
    const page = log.readAfter(seq, PAGE_EVENTS)
    const last = page.at(-1)
    if (last === undefined) break
    for (const { seq: at, event } of page) {
      const text = takenText(event)
      if (text !== undefined) told.push({ seq: at, text })
    }
    seq = last.seq
  }
  return told
}

const PAGE_EVENTS = 512

/** Agents may drop the white space around it. */
function isSame(message: string, text: string): boolean {
  return message.trim() === text.trim()
}

function untaken(count: number): string {
  return count === 1
    ? 'The turn ended, and the agent did not say that it read your message. It is first in the queue and was not sent again.'
    : `The turn ended, and the agent did not say that it read ${count} messages. They are first in the queue and were not sent again.`
}
