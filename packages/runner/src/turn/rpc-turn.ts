import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import type {
  AskedDecision,
  HarnessQuery,
  PermissionRequestEvent,
  Session,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import { Wake } from '../common/wake.ts'
import type { RpcRequest, RpcSource } from '../process/json-rpc.ts'
import type { Connection, ConnectionEnd, Requests, TurnParts } from './connection.ts'
import type { AgentLease, KeptAgent } from './kept-agents.ts'
import { restarted, type StopReason, stopped } from './turn-events.ts'
import type { AgentName } from './turn-program.ts'

/** A message of the agent about the turn. */
export interface TurnMessage extends RpcSource {
  /** Set for a request, which has to be answered. */
  request?: RpcRequest
}

/** What a protocol adds to the turn of a kept agent that speaks JSON-RPC. */
export interface RpcDialogue {
  readonly view: RpcView
  /** Decides a request without a person. */
  readonly rule: NonNullable<Requests['rule']>
  /** The protocol wants open requests refused with the interrupt; otherwise they are refused after the turn's end. */
  readonly refusesOnInterrupt: boolean
  /** The listener is called when there may be a message to take. */
  onNews(listener: () => void): void
  /** `nothing` lasts until the next news, `later` means a busy moment, `end` is final: the agent has exited. */
  take(): TurnMessage | 'nothing' | 'later' | 'end'
  /** Emitted after the opening of the view. */
  notices?(): UIEvent[]
  /** Sends the user's message. */
  begin(): Promise<void> | void
  /** A failed `begin` has left no turn running. */
  isRefused?(error: unknown): boolean
  isLast(raw: unknown): boolean
  /** Sends one more message. False if the agent cannot take it. */
  steer?(prompt: HarnessQuery['prompt'], turn: SteeredTurn): Promise<boolean>
  /** Sends the interrupt. False if the turn cannot be interrupted yet. */
  interrupt(): boolean
  /** Sends the answer of a person or a rule. */
  answer(request: RpcRequest, event: PermissionRequestEvent, asked: AskedDecision): RpcAnswer
  /** Refuses a request that nobody can answer any more. */
  refuse(request: RpcRequest): void
  /** The agent has taken the request back. */
  withdrawn?(request: RpcRequest): void
  /** Refuses a request that cannot be shown to a person. */
  refuseUnknown(request: RpcRequest): void
  /** No message of the turn comes any more: ends the work that goes on without it. */
  over(isInterrupted: boolean): Promise<void>
  /** The turn receives no more messages. */
  leave(): void
  /** Why there is no result. */
  fault(failure: unknown): ConnectionEnd['fault']
}

export interface SteeredTurn {
  isOver(): boolean
  /** Shows an event before the messages that were not taken yet. For an agent that will not say itself that it has the message. */
  tell(event: UIEvent): void
}

/** Translates the agent's messages of one turn. */
export interface RpcView {
  opening(): Iterable<UIEvent>
  show(raw: unknown): UIEvent[]
  /** The output is over: returns the events that close open messages and tool calls. */
  end(): UIEvent[]
  /** Null while there is no result. */
  readonly outcome: TurnEndReason | null
}

export interface RpcAnswer {
  told: UIEvent | undefined
  /** The answer ends the turn. */
  interrupts?: boolean
}

export interface RpcTurnOptions {
  session: Session
  agent: AgentName
  lease: AgentLease<KeptAgent>
  parts: TurnParts
  /** How long an interrupted turn may take to end before the agent is killed. */
  interruptGraceMs: number
}

/** One turn of a conversation that a kept agent holds. The process stays when the turn is over. */
export class RpcTurn implements Connection {
  readonly requests: Requests
  readonly #options: RpcTurnOptions
  readonly #dialogue: RpcDialogue
  readonly #wake = new Wake()
  /** Requests by the id that the user is shown. */
  readonly #asked = new Map<string, RpcRequest>()
  #hasBegun = false
  /** The user's message was sent, or is being sent. */
  #isSent = false
  #isInterrupted = false
  /** The agent was told of the interrupt. */
  #isInterruptSent = false
  #isOver = false
  #escalation: NodeJS.Timeout | undefined
  #offset = -1
  /** Events that are not in the agent's messages. */
  #told: UIEvent[] = []
  #failure: unknown

  constructor(dialogue: RpcDialogue, options: RpcTurnOptions) {
    this.#dialogue = dialogue
    this.#options = options
    dialogue.onNews(() => this.#wake.notify())
    this.requests = {
      rule: request => dialogue.rule(request),
      answer: (request, asked) => this.#answer(request, asked),
    }
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get offset(): number {
    return this.#offset
  }

  get isQuiet(): boolean {
    return this.#isOver
  }

  /** Sends the message; ends after the turn's last message, or with the agent. Leaving the loop early stops the turn. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    this.#hasBegun = true
    try {
      yield [...this.#dialogue.view.opening(), ...this.#notices()]
      // A stop arrived while the first events were emitted.
      if (this.#options.parts.stop.reason) return
      await this.#begin()
      while (!this.#isOver) {
        const batch = await this.#next()
        if (!batch) break
        yield batch
      }
      this.#isOver = true
    } catch (error) {
      this.#failure = error
    } finally {
      if (this.#isSent) await this.#finish()
    }
  }

  async send(prompt: HarnessQuery['prompt']): Promise<boolean> {
    if (!this.#hasBegun) return false
    const tell = (event: UIEvent) => {
      this.#told.push(this.#options.parts.record.note(event, this.#offset))
      this.#wake.notify()
    }
    return (await this.#dialogue.steer?.(prompt, { isOver: () => this.#isOver, tell })) ?? false
  }

  /** The agent may be ended with the turn only if no other session uses it. */
  async stop(reason: StopReason): Promise<void> {
    if (reason === 'killed' && this.#options.lease.holders() === 1) await this.#endAgent()
    else this.#interrupt()
  }

  async end(): Promise<ConnectionEnd> {
    const { view } = this.#dialogue
    const events = [...this.#told.splice(0), ...view.end()]
    const { outcome } = view
    return {
      events,
      outcome,
      isFinished: outcome === 'completed',
      fault: this.#dialogue.fault(this.#failure),
    }
  }

  async close(): Promise<void> {
    const { lease, parts } = this.#options
    clearTimeout(this.#escalation)
    try {
      this.#dialogue.leave()
      await lease.release()
    } catch (error) {
      parts.log.write('error', 'turn:release', { error: String(error) })
    }
  }

  #notices(): UIEvent[] {
    const { session, agent, lease, parts } = this.#options
    const lost = lease.lost === undefined ? [] : [restarted(session.id, `${agent.name} ${lease.lost}`)]
    const notices = [...(this.#dialogue.notices?.() ?? []), ...lost]
    return notices.map(event => parts.record.note(event, this.#offset))
  }

  async #begin(): Promise<void> {
    this.#isSent = true
    try {
      await this.#dialogue.begin()
    } catch (error) {
      this.#isOver = this.#dialogue.isRefused?.(error) ?? false
      throw error
    }
    if (this.#isInterrupted) this.#interrupt()
  }

  /** Undefined if the agent has exited and all its messages were taken. */
  async #next(): Promise<UIEvent[] | undefined> {
    while (true) {
      const batch = this.#told.splice(0)
      let bytes = 0
      let taken = this.#dialogue.take()
      // A slow reader gets the waiting messages in pieces.
      while (typeof taken !== 'string') {
        batch.push(...this.#show(taken))
        bytes += taken.bytes
        if (this.#isOver || bytes >= MAX_BATCH_BYTES) return batch
        taken = this.#dialogue.take()
      }
      if (batch.length > 0) return batch
      if (taken === 'end') return undefined
      if (taken === 'nothing') await this.#wake.wait()
      else await nextLoopTurn()
    }
  }

  #show({ raw, request, offset }: TurnMessage): UIEvent[] {
    const events = this.#dialogue.view.show(raw)
    this.#offset = offset
    this.#isOver ||= this.#dialogue.isLast(raw)
    for (const event of events) if (event.type === 'permission:resolved') this.#withdraw(event.requestId)
    if (request) this.#note(request, events)
    return events.map(event => this.#withReason(event))
  }

  #note(request: RpcRequest, events: UIEvent[]): void {
    const shown = events.find(event => event.type === 'permission:request')
    if (!shown) this.#dialogue.refuseUnknown(request)
    else if (this.#isInterrupted && this.#dialogue.refusesOnInterrupt) this.#dialogue.refuse(request)
    else this.#asked.set(shown.requestId, request)
  }

  #withdraw(requestId: string): void {
    const request = this.#asked.get(requestId)
    this.#asked.delete(requestId)
    if (request) this.#dialogue.withdrawn?.(request)
  }

  /** The agent reports that the turn was interrupted, but not why. */
  #withReason(event: UIEvent): UIEvent {
    const { reason } = this.#options.parts.stop
    if (event.type !== 'session:error' || event.code !== 'interrupted' || !reason) return event
    return { ...event, ...stopped(event.sessionId, reason) }
  }

  #answer(event: PermissionRequestEvent, asked: AskedDecision): UIEvent | undefined {
    const request = this.#asked.get(event.requestId)
    if (!request) return undefined
    this.#asked.delete(event.requestId)
    const { told, interrupts } = this.#dialogue.answer(request, event, asked)
    if (interrupts) {
      this.#options.parts.stop.ask('interrupted')
      this.#interrupt()
    }
    return told
  }

  #interrupt(): void {
    if (this.#isOver || !this.#isSent) return
    this.#isInterrupted = true
    // An agent that does not end an interrupted turn is broken for its other sessions, too.
    this.#escalation ??= setTimeout(() => void this.#endAgent(), this.#options.interruptGraceMs)
    this.#isInterruptSent ||= this.#dialogue.interrupt()
    if (this.#dialogue.refusesOnInterrupt) this.#refuseAll()
  }

  #refuseAll(): void {
    for (const request of this.#asked.values()) this.#dialogue.refuse(request)
    this.#asked.clear()
  }

  async #endAgent(): Promise<void> {
    await this.#options.lease.agent.stop({ interruptGraceMs: 0 })
  }

  /** Runs however the loop was left: no work of the turn goes on, and open requests are refused. */
  async #finish(): Promise<void> {
    if (!this.#isOver) {
      this.#interrupt()
      if (this.#isInterruptSent) while (!this.#isOver && (await this.#next()));
      else await this.#endAgent()
    }
    this.#isOver = true
    // A sub-agent that outlives the turn would otherwise wait forever.
    this.#refuseAll()
    clearTimeout(this.#escalation)
    await this.#dialogue.over(this.#isInterrupted)
  }
}

const MAX_BATCH_BYTES = 256 * 1024
