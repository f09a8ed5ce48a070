import { randomUUID } from 'node:crypto'
import {
  type ClaudeControlResponseEvent,
  type ClaudeEvent,
  stalled,
  type UIEvent,
  unreachable,
} from '@chirality/core'
import { Silence } from '../../process/silence.ts'
import type { Ask } from '../../turn/ask.ts'
import { spoolDamaged } from '../../turn/turn-events.ts'
import type { MessageContent } from '../stdin-lines.ts'
import { Background } from './background.ts'
import type { InboxItem } from './inbox.ts'
import type { LiveClaude } from './live-claude.ts'
import { Messages } from './messages.ts'
import { Requests } from './requests.ts'

export interface LiveTurnOptions {
  live: LiveClaude
  sessionId: string
  content: MessageContent
  /** Of the message; it comes back with it. */
  uuid: string
  decide?: Ask
  stallMs: number
  /** How long an interrupted agent may take to end the turn before it is ended itself. */
  interruptGraceMs: number
  /** How long an agent that has answered may have nothing to say until the turn is over. */
  lingerMs: number
  /** How long it may leave commands running until the turn is over without them. */
  backgroundMs: number
  /** Told of what the agent's output does not say, and of the record that it came after. */
  onNote?: (event: UIEvent, after: number) => void
}

/** From one message to the agent's rest, on a process that goes on living. */
export class LiveTurn {
  readonly #options: LiveTurnOptions
  readonly #live: LiveClaude
  readonly #messages = new Messages()
  readonly #requests: Requests
  readonly #background: Background
  readonly #steered = new Map<string, string>()
  #takenBack = 0
  #isHeard = false
  #isInterrupted = false
  readonly #interrupts = new Set<string>()
  #isStopHeeded = false
  #isOver = false
  #escalation: NodeJS.Timeout | undefined
  /** Where the last record was read. */
  #offset = -1

  constructor(options: LiveTurnOptions) {
    this.#options = options
    this.#live = options.live
    this.#requests = new Requests(options.live, options.decide)
    this.#background = new Background(options)
  }

  /** Ends when the agent rests, or is gone. Whoever leaves early stops the turn. */
  async *events(): AsyncGenerator<UIEvent> {
    const { content, uuid, sessionId, stallMs } = this.#options
    const silence = new Silence(stallMs)
    const watch = setInterval(() => this.#watch(silence), Math.min(stallMs, STALL_CHECK_MS))
    try {
      this.#messages.sent(uuid)
      void this.#sendFirst(content, uuid)
      const { inbox } = this.#live
      do {
        for (let item = this.#next(); item !== undefined; item = this.#next()) {
          silence.reset()
          yield* this.#show(item)
        }
      } while (!this.#isOver && (await inbox.more()))
      this.#isOver = true
      for (const event of this.#requests.close()) yield this.#noted(event)
      const count = this.#takenBack + this.#waiting.length
      if (count > 0) yield this.#noted(unread(sessionId, count))
    } finally {
      clearInterval(watch)
      await this.#finish()
    }
  }

  /** Nothing once the turn is over: what comes then is for the next one. */
  #next(): InboxItem | undefined {
    return this.#isOver ? undefined : this.#live.inbox.take()
  }

  /** The agent has answered every message, whether or not more was to come. */
  get isAnswered(): boolean {
    return this.#messages.areAnswered && this.#live.shownRest.answered
  }

  /** The agent has begun with the turn. */
  get isHeard(): boolean {
    return this.#isHeard
  }

  /** The agent said that it stops before it said that it was done. */
  get isStopHeeded(): boolean {
    return this.#isStopHeeded
  }

  /** The process stays; if the agent does not heed it in time, it goes. */
  interrupt(): void {
    if (this.#isOver || this.#isInterrupted) return
    this.#isInterrupted = true
    const { interruptGraceMs } = this.#options
    this.#escalation = setTimeout(() => void this.#live.stop({ interruptGraceMs: 0 }), interruptGraceMs)
    // Only something in the background is left, and that heeds no interrupt.
    if (this.#messages.areAnswered) void this.#live.stop({ interruptGraceMs: 0 })
    else void this.#interruptAll()
  }

  /** One more message. False when it is too late for it. */
  async steer(content: MessageContent, text: string): Promise<boolean> {
    if (this.#isOver || this.#isInterrupted || !this.#live.isUsable) return false
    const uuid = randomUUID()
    this.#messages.sent(uuid)
    this.#steered.set(uuid, text)
    if (await this.#live.send(content, uuid)) return true
    this.#messages.withdrawn(uuid)
    return false
  }

  /** Not waited for: a long message takes its time, and the agent may have something to say meanwhile. */
  async #sendFirst(content: MessageContent, uuid: string): Promise<void> {
    // One that does not read any more is on its way out, or of no use; its end ends the turn.
    if (!(await this.#live.send(content, uuid)) && !this.#isOver) await this.#live.giveUp()
  }

  *#show(item: InboxItem): Generator<UIEvent> {
    const { sessionId } = this.#options
    switch (item.kind) {
      case 'record': {
        const { record, event } = item
        this.#live.taken(item)
        this.#offset = record.offset
        const { translator } = this.#live
        if (!event) return yield* translator.translateRecord(record)
        yield* this.#requests.see(event, translator.translate(event))
        yield* this.#seeMessages(event)
        if (this.isAnswered) this.#isOver = this.#background.see(event)
        else this.#background.clear()
        return
      }
      case 'told':
        yield this.#noted(item.event)
        return
      case 'spool-damaged':
        yield this.#noted(spoolDamaged(sessionId, item.path, item.damage))
        return
      case 'rested':
        if (!this.isAnswered) return
        this.#isOver = true
        yield* this.#background.leave().map(left => this.#noted(left))
        return
      case 'silent':
        yield this.#noted(stalled(sessionId, item.idleMs))
        return
      default:
        unreachable(item)
    }
  }

  *#seeMessages(event: ClaudeEvent): Generator<UIEvent> {
    if (event.type === 'control_response' && !this.isAnswered) this.#seeStop(event.response)
    this.#messages.see(event)
    this.#isHeard ||= event.type === 'result' || (event.type === 'system' && event.subtype === 'init')
    if (event.type === 'system' && event.subtype === 'init' && this.#isInterrupted) {
      // A message that could not be taken back in time.
      void this.#interruptAll()
    }
    const text =
      event.type === 'user' && event.isReplay === true ? this.#steered.get(String(event.uuid)) : undefined
    if (text === undefined) return
    const message = text.split('\n', 1)[0]?.slice(0, MAX_HEADLINE_CHARS) ?? ''
    const { sessionId } = this.#options
    const data = { kind: 'user_message', text }
    yield this.#noted({ type: 'status', sessionId, status: 'notice', level: 'info', message, data })
  }

  #seeStop(response: ClaudeControlResponseEvent['response']): void {
    const { request_id: id, subtype } = response ?? {}
    this.#isStopHeeded ||= subtype === 'success' && this.#interrupts.has(String(id))
  }

  /** Messages beside the first that the agent has not taken up. */
  get #waiting(): string[] {
    return this.#messages.waiting.filter(uuid => this.#steered.has(uuid))
  }

  /** What waits in the agent's queue would run after the interrupt. */
  async #interruptAll(): Promise<void> {
    try {
      for (const uuid of this.#waiting) {
        const { cancelled } = await this.#live.request({
          subtype: 'cancel_async_message',
          message_uuid: uuid,
        })
        if (cancelled !== true) continue
        this.#messages.withdrawn(uuid)
        this.#takenBack += 1
      }
      const id = randomUUID()
      this.#interrupts.add(id)
      await this.#live.request({ subtype: 'interrupt' }, id)
    } catch {
      // Refused, unanswered or gone: the escalation, or the end of the process, ends the turn.
    }
  }

  #noted(event: UIEvent): UIEvent {
    this.#options.onNote?.(event, this.#offset)
    return event
  }

  /** While a person is asked, the silence is theirs. */
  #watch(silence: Silence): void {
    const idleMs = silence.take()
    if (idleMs === undefined || this.#requests.areOpen || this.isAnswered) return
    void this.#live.inbox.push({ kind: 'silent', idleMs })
  }

  /** Whatever way it was left: nothing of the turn goes on, and nobody is asked any more. */
  async #finish(): Promise<void> {
    this.#requests.close()
    if (!this.#isOver) await this.#abandon()
    this.#background.clear()
    clearTimeout(this.#escalation)
  }

  async #abandon(): Promise<void> {
    this.interrupt()
    for await (const item of this.#live.inbox.read()) {
      for (const _ of this.#show(item));
      if (this.#isOver) return
    }
    this.#isOver = true
  }
}

const STALL_CHECK_MS = 1_000
const MAX_HEADLINE_CHARS = 120

function unread(sessionId: string, count: number): UIEvent {
  const what = count === 1 ? 'A message was' : `${count} messages were`
  const message = `${what} not read before the turn ended.`
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data: { count } }
}
