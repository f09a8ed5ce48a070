import { randomUUID } from 'node:crypto'
import {
  type ClaudeControlResponseEvent,
  type ClaudeEvent,
  type HarnessQuery,
  type UIEvent,
  unreachable,
} from '@chirality/core'
import type { AdoptionRecord } from '../../turn/adoption-record.ts'
import type { Connection, ConnectionEnd } from '../../turn/connection.ts'
import { describeExit, noResult, type StopReason, spoolDamaged } from '../../turn/turn-events.ts'
import type { AgentName } from '../../turn/turn-program.ts'
import { usageFailure } from '../install/features.ts'
import { type MessageContent, promptMessage } from '../launch/prompt.ts'
import type { InboxItem } from './inbox.ts'
import type { LiveClaude } from './live-claude.ts'
import type { LiveLease } from './live-launch.ts'
import { Background, Messages } from './messages.ts'
import { ControlRequests } from './requests.ts'

export interface LiveTurnOptions {
  agent: AgentName
  lease: LiveLease
  sessionId: string
  content: MessageContent
  /** Of the message; it comes back with it. */
  uuid: string
  expectedId: string | undefined
  /** Told before all that the agent says. */
  opening: UIEvent[]
  record: AdoptionRecord
  /** How long an interrupted agent may take to end the turn before it is ended itself. */
  interruptGraceMs: number
  /** How long an agent that has answered may have nothing to say until the turn is over. */
  lingerMs: number
  /** How long it may leave commands running until the turn is over without them. */
  backgroundMs: number
  /** Ends the process with everything that it started. */
  kill(): Promise<void>
}

/** From one message to the agent's rest, on a process that goes on living. */
export class LiveTurn implements Connection {
  readonly requests: ControlRequests
  readonly opening: UIEvent[]
  readonly expectedId: string | undefined
  readonly #options: LiveTurnOptions
  readonly #live: LiveClaude
  readonly #messages = new Messages()
  readonly #background: Background
  readonly #steered = new Map<string, string>()
  #hasBegun = false
  #takenBack = 0
  #isHeard = false
  #isInterrupted = false
  readonly #interrupts = new Set<string>()
  /** The agent said that it stops before it said that it was done. */
  #isStopHeeded = false
  #isOver = false
  #escalation: NodeJS.Timeout | undefined
  #offset = -1

  constructor(options: LiveTurnOptions) {
    const { agent: live } = options.lease
    this.#options = options
    this.#live = live
    this.opening = options.opening
    this.expectedId = options.expectedId
    this.requests = new ControlRequests(live)
    this.#background = new Background({ ...options, live })
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get offset(): number {
    return this.#offset
  }

  get isQuiet(): boolean {
    return this.#isAnswered
  }

  /** Ends when the agent rests, or is gone. Whoever leaves early stops the turn. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    const { content, uuid, sessionId } = this.#options
    this.#hasBegun = true
    try {
      this.#messages.sent(uuid)
      void this.#sendFirst(content, uuid)
      do {
        const batch: UIEvent[] = []
        for (let item = this.#next(); item !== undefined; item = this.#next()) batch.push(...this.#show(item))
        if (batch.length > 0) yield batch
      } while (!this.#isOver && (await this.#live.inbox.more()))
      this.#isOver = true
      const count = this.#takenBack + this.#waiting.length
      if (count > 0) yield [this.#noted(unread(sessionId, count))]
    } finally {
      await this.#finish()
    }
  }

  /** One more message. False when it is too late for it. */
  async send(prompt: HarnessQuery['prompt']): Promise<boolean> {
    if (!this.#hasBegun) return false
    const { content, text } = await promptMessage(prompt, this.#options.agent)
    if (this.#isOver || this.#isInterrupted || !this.#live.isUsable) return false
    const uuid = randomUUID()
    this.#messages.sent(uuid)
    this.#steered.set(uuid, text)
    if (await this.#live.send(content, uuid)) return true
    this.#messages.withdrawn(uuid)
    return false
  }

  /** The process outlives an interrupt that it heeds in time. */
  async stop(reason: StopReason): Promise<void> {
    if (reason === 'killed') await this.#options.kill()
    else if (this.#hasBegun) this.#interrupt()
  }

  async end(failure?: { error: unknown }): Promise<ConnectionEnd> {
    const { agent, sessionId, lease } = this.#options
    const live = this.#live
    if (failure) await live.stop({ interruptGraceMs: 0 })
    const isAnswered = this.#isAnswered
    const outcome = isAnswered ? (live.translator.outcome?.reason ?? null) : null
    const hasCompleted = live.shownRest.reached && outcome === 'completed'
    const isFinished = hasCompleted && !this.#isStopHeeded
    if (live.isUsable) return { outcome, isFinished }
    const { exit, stderr, leftBehind, leftRunning } = await live.ended
    const { code, signal } = exit
    const ended = { code, signal, ...(leftRunning === undefined ? {} : { leftRunning }) }
    if (isAnswered) return { outcome, isFinished, exit: ended }
    const usage = usageFailure(stderr, agent)
    const said = usage ?? noResult(sessionId, describeExit(agent.name, exit, stderr))
    return {
      events: live.translator.end(),
      outcome,
      isFinished,
      fault: { error: said.error, code: said.code, reason: usage ? 'failed' : 'crashed' },
      leftBehind,
      exit: ended,
      // It had gone between turns, and that was not known when the message was sent to it.
      retry: lease.isKept && !this.#isHeard ? 'again' : undefined,
    }
  }

  close(): Promise<void> {
    return this.#options.lease.release()
  }

  /** Nothing once the turn is over: what comes then is for the next one. */
  #next(): InboxItem | undefined {
    return this.#isOver ? undefined : this.#live.inbox.take()
  }

  /** The agent has answered every message, whether or not more was to come. */
  get #isAnswered(): boolean {
    return this.#messages.areAnswered && this.#live.shownRest.answered
  }

  #interrupt(): void {
    if (this.#isOver || this.#isInterrupted) return
    this.#isInterrupted = true
    const { interruptGraceMs } = this.#options
    this.#escalation = setTimeout(() => void this.#live.stop({ interruptGraceMs: 0 }), interruptGraceMs)
    // Only something in the background is left, and that heeds no interrupt.
    if (this.#messages.areAnswered) void this.#live.stop({ interruptGraceMs: 0 })
    else void this.#interruptAll()
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
        const events = translator.translate(event)
        this.requests.see(event, events)
        yield* events
        yield* this.#seeMessages(event)
        if (this.#isAnswered) this.#isOver = this.#background.see(event)
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
        if (!this.#isAnswered) return
        this.#isOver = true
        yield* this.#background.leave().map(left => this.#noted(left))
        return
      default:
        unreachable(item)
    }
  }

  *#seeMessages(event: ClaudeEvent): Generator<UIEvent> {
    if (event.type === 'control_response' && !this.#isAnswered) this.#seeStop(event.response)
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
    return this.#options.record.note(event, this.#offset)
  }

  /** Whatever way it was left: nothing of the turn goes on. */
  async #finish(): Promise<void> {
    if (!this.#isOver) await this.#abandon()
    this.#background.clear()
    clearTimeout(this.#escalation)
  }

  async #abandon(): Promise<void> {
    this.#interrupt()
    for await (const item of this.#live.inbox.read()) {
      for (const event of this.#show(item))
        if (event.type === 'permission:request') this.requests.refuse(event)
      if (this.#isOver) return
    }
    this.#isOver = true
  }
}

const MAX_HEADLINE_CHARS = 120

function unread(sessionId: string, count: number): UIEvent {
  const what = count === 1 ? 'A message was' : `${count} messages were`
  const message = `${what} not read before the turn ended.`
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data: { count } }
}
