import type {
  AskedDecision,
  Guard,
  HarnessQuery,
  PermissionRequestEvent,
  Session,
  UIEvent,
} from '@chirality/core'
import { RpcError, type RpcRequest } from '../process/json-rpc.ts'
import type { ConnectionEnd } from '../turn/connection.ts'
import type { RpcAnswer, RpcDialogue } from '../turn/rpc-turn.ts'
import { failed, tookMessage } from '../turn/turn-events.ts'
import type { AcpAgent, AcpMessage } from './acp-agent.ts'
import { type AcpTurnFacts, AcpView } from './acp-view.ts'
import { contentOf } from './open-conversation.ts'
import { acpAnswer, cancelled, ELICITATION, formAnswer, ruleOf } from './permissions.ts'

export interface AcpDialogueOptions {
  session: Session
  agent: AcpAgent
  query: HarnessQuery
  /** The content of the message, as the protocol wants it. */
  content: unknown[]
  instructions?: string | undefined
  facts: AcpTurnFacts
  /** What the agent said before the turn. */
  unheard: AcpMessage[]
  guard?: Guard | undefined
  /** The name of the server with Chirality's own tools: they need no permission. */
  ownServer: string
}

/** One turn in the words of the Agent Client Protocol. */
export class AcpDialogue implements RpcDialogue {
  readonly view: AcpView
  /** The protocol wants every open request answered as cancelled. */
  readonly refusesOnInterrupt = true
  readonly #options: AcpDialogueOptions
  readonly #agent: AcpAgent
  readonly #waiting: AcpMessage[]
  #notify: () => void = () => {}
  #hasEnded = false
  /** A command ran when the turn was interrupted. */
  #mayHaveLeft = false
  /** How many messages for the running turn were sent and not answered yet. */
  #steering = 0
  #isInterrupted = false

  constructor(options: AcpDialogueOptions) {
    const { session, agent, facts, unheard } = options
    this.#options = options
    this.#agent = agent
    this.view = new AcpView(session, facts)
    this.#waiting = unheard
    // All messages of an agent that has exited were passed on before it counts as ended.
    void agent.ended.then(() => {
      this.#hasEnded = true
      this.#notify()
    })
  }

  /** For messages of the agent. */
  readonly hear = (message: AcpMessage): void => {
    this.#waiting.push(message)
    this.#notify()
  }

  onNews(listener: () => void): void {
    this.#notify = listener
  }

  take(): AcpMessage | 'nothing' | 'end' {
    if (this.#holds) return 'nothing'
    const message = this.#waiting.shift()
    if (!message) return this.#hasEnded ? 'end' : 'nothing'
    this.#agent.taken(message)
    return message
  }

  begin(): void {
    const { facts, content, instructions } = this.#options
    const { answered } = this.#agent.prompt({ sessionId: facts.conversation, prompt: content })
    if (instructions !== undefined) this.#agent.instructions = instructions
    // The answer is read from the messages; only an agent that is gone gives none.
    answered.catch((error: unknown) => {
      if (error instanceof RpcError && error.code === null) this.#notify()
    })
  }

  isLast(): boolean {
    return this.view.outcome !== null
  }

  rule(request: PermissionRequestEvent): Promise<AskedDecision | undefined> {
    return ruleOf(request, this.#agent.allowed, this.#options)
  }

  /** Without a method of the agent the message waits for the next turn. */
  async steer(
    prompt: HarnessQuery['prompt'],
    { isOver, tell }: { isOver(): boolean; tell(event: UIEvent): void },
  ): Promise<boolean> {
    const agent = this.#agent
    if (!agent.hello.canSteer) return false
    const content = await contentOf(agent, prompt)
    if (isOver()) return false
    const { facts, session } = this.#options
    const patience = AbortSignal.timeout(STEERING_MS)
    const idle = { steering: { idleBehavior: 'promptRequired' } }
    const params = { sessionId: facts.conversation, prompt: content, _meta: idle }
    this.#steering += 1
    try {
      const { outcome } = await agent.request('_session/steering', params, patience)
      if (outcome !== 'injected') return false
      tell(tookMessage(session.id, prompt))
      return true
    } catch (error) {
      if (error instanceof RpcError) return false
      throw error
    } finally {
      this.#steering -= 1
      this.#notify()
    }
  }

  /**
   * The agent may react to a message before it says that it has it: what it says meanwhile is shown after the message,
   * unless it asks. It may take the message only when its request is answered.
   */
  get #holds(): boolean {
    const asks = this.#waiting.some(({ request }) => request !== undefined)
    const mustGoOn = asks || this.#isInterrupted || this.#hasEnded || this.#agent.isFull
    return this.#steering > 0 && !mustGoOn
  }

  answer(request: RpcRequest, event: PermissionRequestEvent, asked: AskedDecision): RpcAnswer {
    this.view.answered(event.requestId)
    const { result, told } =
      request.method === ELICITATION
        ? formAnswer(request.params, event, asked)
        : acpAnswer(event, asked, this.#agent.allowed)
    this.#agent.respond(request.id, result)
    const { decision } = asked
    return { told, interrupts: decision.behavior === 'deny' && decision.interrupt === true }
  }

  interrupt(): boolean {
    this.#mayHaveLeft = this.view.isExecuting
    this.#isInterrupted = true
    this.#notify()
    this.#agent.notify('session/cancel', { sessionId: this.#options.facts.conversation })
    return true
  }

  refuse({ id, method }: RpcRequest): void {
    this.#agent.respond(id, cancelled(method))
  }

  /** The protocol wants an answer also to a request that the agent has taken back. */
  withdrawn({ id }: RpcRequest): void {
    this.#agent.respondError(id, 'The request was cancelled.', REQUEST_CANCELLED)
  }

  /** No file system, no terminal, and nothing that a person could not be shown. */
  refuseUnknown({ id, method }: RpcRequest): void {
    this.#agent.respondError(id, `Chirality does not offer ${method}.`)
  }

  async over(isInterrupted: boolean): Promise<void> {
    const agent = this.#agent
    agent.costUsd = this.view.costUsd
    agent.context = this.view.context ?? agent.context
    agent.slashCommands = this.view.slashCommands ?? agent.slashCommands
    if (this.view.hasCompacted) agent.instructions = undefined
    // Nobody knows which of its processes a command left running. The next turn starts it again.
    if (isInterrupted && this.#mayHaveLeft) await agent.stop({ interruptGraceMs: 0 })
  }

  leave(): void {
    this.#agent.leave()
  }

  fault(failure: unknown): ConnectionEnd['fault'] {
    const { agent, said, process, isUsable } = this.#agent
    if (isUsable || failure !== undefined) {
      const why = failure ?? new Error(`${agent.name} gave no answer.`)
      const { error, code } = failed(this.#options.session.id, why)
      return { error, code, reason: 'failed' }
    }
    const why = process.fault ?? (said ? `It said: ${said}` : 'The next turn starts it again.')
    const error = `${agent.name} ended before the turn did. ${why}`
    return { error, code: 'process_crashed', reason: 'crashed' }
  }
}

/** Somebody waits for the outcome. A message that is not taken by then goes to the next turn. */
const STEERING_MS = 10_000
const REQUEST_CANCELLED = -32_800
