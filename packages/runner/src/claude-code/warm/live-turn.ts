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

export interface LiveClaudeTurnOptions {
  agent: AgentName
  lease: LiveLease
  sessionId: string
  content: MessageContent
  /** The id of the message, which the agent repeats. */
  uuid: string
  expectedId: string | undefined
  /** Emitted before the agent's events. */
  opening: UIEvent[]
  record: AdoptionRecord
  /** How long an interrupted agent may take to end the turn before it is killed. */
  interruptGraceMs: number
  /** How long an agent that has answered has to be silent until the turn is over. */
  lingerMs: number
  /** How long the turn waits for background commands after the answer. */
  backgroundMs: number
  /** Ends the process and all its child processes. */
  kill(): Promise<void>
}

/** One turn on a kept process, from the message until the agent is idle. */
export class LiveClaudeTurn implements Connection {
  readonly requests: ControlRequests
  readonly opening: UIEvent[]
  readonly expectedId: string | undefined
  readonly #options: LiveClaudeTurnOptions
  readonly #live: LiveClaude
  readonly #messages = new Messages()
  readonly #background: Background
  readonly #steered = new Map<string, string>()
  #hasBegun = false
  #takenBack = 0
  #isHeard = false
  #isInterrupted = false
  readonly #interrupts = new Set<string>()
  /** The agent reported the interruption before a result. */
  #isStopHeeded = false
  #isOver = false
  #escalation: NodeJS.Timeout | undefined
  #offset = -1

  constructor(options: LiveClaudeTurnOptions) {
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

  /** Ends when the agent is idle or has exited. Leaving the loop early stops the turn. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    const { content, uuid, sessionId } = this.#options
    this.#hasBegun = true
    try {
      this.#messages.sent(uuid)
      void this.#sendFirst(content, uuid)
      do {
        const batch: UIEvent[] = []
        // Nothing is taken once the turn is over: later output belongs to the next turn.
        while (!this.#isOver) {
          const item = this.#live.inbox.take()
          if (item === undefined) break
          batch.push(...this.#show(item))
        }
        if (batch.length > 0) yield batch
      } while (!this.#isOver && (await this.#live.inbox.more()))
      this.#isOver = true
      const left = this.#leaveUnread()
      const told = [...unread(sessionId, this.#takenBack), ...unconfirmed(sessionId, left)]
      if (told.length > 0) yield told.map(event => this.#noted(event))
    } finally {
      await this.#finish()
    }
  }

  /** Sends one more message. False if the turn is already ending. */
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

  /** The process is kept if it obeys the interrupt in time. */
  async stop(reason: StopReason): Promise<void> {
    if (reason === 'killed') await this.#options.kill()
    else if (this.#hasBegun) this.#interrupt()
  }

  async end(failure?: { error: unknown }): Promise<ConnectionEnd> {
    const { agent, sessionId, lease } = this.#options
    const live = this.#live
    if (failure) await live.stop({ interruptGraceMs: 0 })
    const isAnswered = this.#isAnswered || this.#isUnconfirmed
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
      // The process had exited between turns, and the exit was not known when the message was sent.
      retry: lease.isKept && !this.#isHeard ? 'again' : undefined,
    }
  }

  close(): Promise<void> {
    return this.#options.lease.release()
  }

  /** The agent has answered every message; background tasks may still run. */
  get #isAnswered(): boolean {
    return this.#messages.areAnswered && this.#live.shownRest.answered
  }

  /**
   * The agent has answered, and does not say whether it has read a further message: 2.1.16 gives a message that came
   * while a command ran to the model, and never repeats it.
   */
  get #isUnconfirmed(): boolean {
    const { areAllWaiting, waiting } = this.#messages
    return areAllWaiting && this.#live.shownRest.answered && waiting.every(uuid => this.#steered.has(uuid))
  }

  #interrupt(): void {
    if (this.#isOver || this.#isInterrupted) return
    this.#isInterrupted = true
    const { interruptGraceMs } = this.#options
    this.#escalation = setTimeout(() => void this.#live.stop({ interruptGraceMs: 0 }), interruptGraceMs)
    // Only background tasks are left, and an interrupt does not end those.
    if (this.#messages.areAnswered) void this.#live.stop({ interruptGraceMs: 0 })
    else if (this.#isUnconfirmed) void this.#live.inbox.push({ kind: 'rested' })
    else void this.#interruptAll()
  }

  /** Not awaited: writing a long message takes time, and the agent may print meanwhile. */
  async #sendFirst(content: MessageContent, uuid: string): Promise<void> {
    // A process that does not read its stdin is exiting or broken; its exit ends the turn.
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
        else if (this.#isUnconfirmed) this.#background.seeSilence()
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
        if (!this.#isAnswered && !this.#isUnconfirmed) return
        this.#isOver = true
        yield* this.#background.leave().map(left => this.#noted(left))
        return
      default:
        unreachable(item)
    }
  }

  *#seeMessages(event: ClaudeEvent): Generator<UIEvent> {
    if (event.type === 'control_response' && !this.#isAnswered) this.#seeStop(event.response)
    const read = this.#messages.see(event)
    this.#isHeard ||= event.type === 'result' || (event.type === 'system' && event.subtype === 'init')
    if (event.type === 'system' && event.subtype === 'init' && this.#isInterrupted) {
      // A message that could not be withdrawn in time.
      void this.#interruptAll()
    }
    for (const text of read.flatMap(uuid => this.#steered.get(uuid) ?? [])) {
      const message = text.split('\n', 1)[0]?.slice(0, MAX_HEADLINE_CHARS) ?? ''
      const { sessionId } = this.#options
      const data = { kind: 'user_message', text }
      yield this.#noted({ type: 'status', sessionId, status: 'notice', level: 'info', message, data })
    }
  }

  #seeStop(response: ClaudeControlResponseEvent['response']): void {
    const { request_id: id, subtype } = response ?? {}
    this.#isStopHeeded ||= subtype === 'success' && this.#interrupts.has(String(id))
  }

  /** Further messages that the agent has not taken up. */
  get #waiting(): string[] {
    return this.#messages.waiting.filter(uuid => this.#steered.has(uuid))
  }

  /** The number of messages of which the agent said nothing. It must not begin with one when the turn is over. */
  #leaveUnread(): number {
    const left = this.#waiting
    if (this.#live.isUsable)
      for (const uuid of left) {
        // Whether it could still be withdrawn changes nothing for the user.
        this.#live.request({ subtype: 'cancel_async_message', message_uuid: uuid }).catch(() => {})
      }
    return left.length
  }

  /** Messages in the agent's queue would run after the interrupt, so they are withdrawn. */
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
      // The interrupt was refused or not answered, or the process has exited: the kill that follows, or that exit, ends
      // the turn.
    }
  }

  #noted(event: UIEvent): UIEvent {
    return this.#options.record.note(event, this.#offset)
  }

  /** Runs however the loop was left, so that no work of the turn goes on. */
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

function unread(sessionId: string, count: number): UIEvent[] {
  const what = count === 1 ? 'A message was' : `${count} messages were`
  return count === 0 ? [] : [left(sessionId, count, `${what} not read before the turn ended.`)]
}

function unconfirmed(sessionId: string, count: number): UIEvent[] {
  const what = count === 1 ? 'a message' : `${count} messages`
  const message = `The agent did not say whether it read ${what} before the turn ended.`
  return count === 0 ? [] : [left(sessionId, count, message)]
}

function left(sessionId: string, count: number, message: string): UIEvent {
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data: { count } }
}
