import type {
  AskedDecision,
  Guard,
  HarnessQuery,
  PermissionRequestEvent,
  Session,
  UIEvent,
} from '@chirality/core'
import { Wake } from '../common/wake.ts'
import { RpcError, type RpcRequest } from '../process/json-rpc.ts'
import type { Connection, ConnectionEnd, Requests, TurnParts } from '../turn/connection.ts'
import type { AgentLease } from '../turn/kept-agents.ts'
import { failed, restarted, type StopReason, stopped } from '../turn/turn-events.ts'
import type { AcpAgent, AcpMessage } from './acp-agent.ts'
import { type AcpTurnFacts, AcpView } from './acp-view.ts'
import { acpAnswer, CANCELLED, ruleOf } from './permissions.ts'

export interface AcpTurnOptions {
  session: Session
  turnId: string
  lease: AgentLease<AcpAgent>
  query: HarnessQuery
  /** The content of the message, as the protocol wants it. */
  content: unknown[]
  instructions?: string | undefined
  facts: AcpTurnFacts
  /** What the agent said before the turn. */
  unheard: AcpMessage[]
  parts: TurnParts
  guard?: Guard | undefined
  /** The name of the server with Chirality's own tools: they need no permission. */
  ownServer: string
  interruptGraceMs: number
}

/** One turn of the conversation that a kept agent holds. */
export class AcpTurn implements Connection {
  readonly requests: Requests
  readonly #options: AcpTurnOptions
  readonly #agent: AcpAgent
  readonly #view: AcpView
  readonly #wake = new Wake()
  readonly #waiting: AcpMessage[]
  readonly #asked = new Map<string, RpcRequest>()
  #hasBegun = false
  #isSent = false
  #isInterrupted = false
  /** A command ran when the turn was stopped. */
  #mayHaveLeft = false
  #isOver = false
  #hasEnded = false
  #escalation: NodeJS.Timeout | undefined
  #offset = -1
  #failure: unknown

  constructor(options: AcpTurnOptions) {
    const { session, lease, facts, unheard } = options
    this.#options = options
    this.#agent = lease.agent
    this.#view = new AcpView(session, facts)
    this.#waiting = unheard
    this.requests = {
      rule: request => ruleOf(request, this.#agent.allowed, options),
      answer: (request, asked) => this.#answer(request, asked),
    }
  }

  /** For messages of the agent. */
  readonly hear = (message: AcpMessage): void => {
    this.#waiting.push(message)
    this.#wake.notify()
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

  /** Sends the message; ends with the answer to it, or with the agent. Leaving the loop early stops the turn. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    this.#hasBegun = true
    // All messages of an agent that has exited were passed on before it counts as ended.
    void this.#agent.ended.then(() => {
      this.#hasEnded = true
      this.#wake.notify()
    })
    try {
      yield [...this.#view.opening(), ...this.#notices()]
      // A stop arrived while the first events were emitted.
      if (this.#options.parts.stop.reason) return
      this.#send()
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

  async stop(reason: StopReason): Promise<void> {
    if (reason === 'killed') await this.#agent.stop({ interruptGraceMs: 0 })
    else this.#interrupt()
  }

  async end(): Promise<ConnectionEnd> {
    const events = this.#view.end()
    const { outcome } = this.#view
    return { events, outcome, isFinished: outcome === 'completed', fault: this.#fault() }
  }

  async close(): Promise<void> {
    const { lease, parts } = this.#options
    clearTimeout(this.#escalation)
    try {
      this.#agent.leave()
      await lease.release()
    } catch (error) {
      parts.log.write('error', 'turn:release', { error: String(error) })
    }
  }

  #send(): void {
    const { facts, content, instructions } = this.#options
    this.#isSent = true
    const { answered } = this.#agent.prompt({ sessionId: facts.conversation, prompt: content })
    if (instructions !== undefined) this.#agent.instructions = instructions
    // The answer is read from the messages; only an agent that is gone gives none.
    answered.catch((error: unknown) => {
      if (error instanceof RpcError && error.code === null) this.#wake.notify()
    })
  }

  /** Undefined if the agent has exited and all its messages were taken. */
  async #next(): Promise<UIEvent[] | undefined> {
    while (true) {
      const batch: UIEvent[] = []
      let bytes = 0
      for (let message = this.#waiting.shift(); message; message = this.#waiting.shift()) {
        batch.push(...this.#show(message))
        this.#agent.taken(message)
        bytes += message.bytes
        if (this.#isOver || bytes >= MAX_BATCH_BYTES) return batch
      }
      if (batch.length > 0) return batch
      if (this.#hasEnded) return undefined
      await this.#wake.wait()
    }
  }

  #show({ raw, request, offset }: AcpMessage): UIEvent[] {
    const events = this.#view.show(raw)
    this.#offset = offset
    this.#isOver ||= this.#view.outcome !== null
    if (request) this.#note(request, events)
    const { reason } = this.#options.parts.stop
    const { id } = this.#options.session
    return events.map(event =>
      event.type === 'session:error' && event.code === 'interrupted' && reason
        ? { ...event, ...stopped(id, reason) }
        : event,
    )
  }

  #note(request: RpcRequest, events: UIEvent[]): void {
    const shown = events.find(event => event.type === 'permission:request')
    if (shown && !this.#isInterrupted) this.#asked.set(shown.requestId, request)
    else if (shown) this.#agent.respond(request.id, CANCELLED)
    // No file system, no terminal, and nothing that a person could not be shown.
    else this.#agent.respondError(request.id, `Chirality does not offer ${request.method}.`)
  }

  #answer(event: PermissionRequestEvent, asked: AskedDecision): UIEvent | undefined {
    const request = this.#asked.get(event.requestId)
    if (!request) return undefined
    this.#asked.delete(event.requestId)
    const { result, told } = acpAnswer(event, asked, this.#agent.allowed)
    this.#agent.respond(request.id, result)
    if (asked.decision.behavior === 'deny' && asked.decision.interrupt) {
      this.#options.parts.stop.ask('interrupted')
      this.#interrupt()
    }
    return told
  }

  /** The protocol wants every open request answered as cancelled. An agent that ignores this is ended. */
  #interrupt(): void {
    const { facts, interruptGraceMs } = this.#options
    if (this.#isOver || !this.#isSent || this.#isInterrupted) return
    this.#isInterrupted = true
    this.#mayHaveLeft = this.#view.isExecuting
    this.#escalation = setTimeout(() => void this.#agent.stop({ interruptGraceMs: 0 }), interruptGraceMs)
    this.#agent.notify('session/cancel', { sessionId: facts.conversation })
    for (const { id } of this.#asked.values()) this.#agent.respond(id, CANCELLED)
    this.#asked.clear()
  }

  /** Runs however the loop was left: no work of the turn goes on. */
  async #finish(): Promise<void> {
    if (!this.#isOver) {
      this.#interrupt()
      while (!this.#isOver && (await this.#next()));
    }
    this.#isOver = true
    clearTimeout(this.#escalation)
    for (const { id } of this.#asked.values()) this.#agent.respond(id, CANCELLED)
    this.#asked.clear()
    const agent = this.#agent
    agent.costUsd = this.#view.costUsd
    agent.context = this.#view.context ?? agent.context
    agent.slashCommands = this.#view.slashCommands ?? agent.slashCommands
    if (this.#view.hasCompacted) agent.instructions = undefined
    // Nobody knows which of its processes a command left running. The next turn starts it again.
    if (this.#isInterrupted && this.#mayHaveLeft) await agent.stop({ interruptGraceMs: 0 })
  }

  #fault(): ConnectionEnd['fault'] {
    const { agent, said, process, isUsable } = this.#agent
    const { session } = this.#options
    if (isUsable || this.#failure !== undefined) {
      const { error, code } = failed(session.id, this.#failure ?? new Error(`${agent.name} gave no answer.`))
      return { error, code, reason: 'failed' }
    }
    const why = process.fault ?? (said ? `It said: ${said}` : 'The next turn starts it again.')
    const error = `${agent.name} ended before the turn did. ${why}`
    return { error, code: 'process_crashed', reason: 'crashed' }
  }

  #notices(): UIEvent[] {
    const { session, lease, parts } = this.#options
    const { name } = this.#agent.agent
    const lost = lease.lost === undefined ? [] : [restarted(session.id, `${name} ${lease.lost}`)]
    return lost.map(event => parts.record.note(event, this.#offset))
  }
}

const MAX_BATCH_BYTES = 256 * 1024
