import { isDeepStrictEqual } from 'node:util'
import type {
  AskedDecision,
  DecidedBy,
  Guard,
  GuardedCall,
  GuardVerdict,
  HarnessTurnOpts,
  PermissionDecision,
  PermissionMode,
  PermissionRequestEvent,
  PermissionResolvedEvent,
  UIEvent,
} from '@chirality/core'
import type { Requests } from './connection.ts'

export interface QuestionsOptions {
  /** Undefined if no answer can be sent: the agent's stdin was closed when the server that held it exited. */
  requests: Requests | undefined
  decide: Ask | undefined
  /** Its denials hold also for an input that a person put in place of the requested one. */
  guard?: Guard | undefined
  /** In the mode of an unattended turn. What no rule allows is denied then, because an answer may never come. */
  asksNobody?(): boolean
  /** Receives the answers of people and rules. */
  tell(event: UIEvent): void
}

/** The agent's permission requests during a turn. Each is answered once, or withdrawn, or closed with the turn. */
export class Questions {
  readonly #options: QuestionsOptions
  readonly #open = new Map<string, { request: PermissionRequestEvent; abort: AbortController }>()

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  get areOpen(): boolean {
    return this.#open.size > 0
  }

  /** The events to emit for an event of the agent, after its effect on the open requests. */
  see(event: UIEvent): UIEvent[] {
    switch (event.type) {
      case 'permission:request':
        // Registered before the event is emitted, because a reader can answer at once.
        this.#add(event)
        return [event]
      case 'permission:resolved':
        // An answer and a withdrawal can arrive together; the first one counts.
        return this.#take(event.requestId) ? [event] : []
      case 'tool:result':
        return [...this.#closeOf(event.toolUseId), event]
      default:
        return [event]
    }
  }

  /** The turn is being stopped: the agent withdraws its requests, so the pending answers are cancelled. */
  abandon(): void {
    for (const { abort } of this.#open.values()) abort.abort()
  }

  /** Closes every open request; later ones are not shown. */
  close(): UIEvent[] {
    return [...this.#open.values()].map(({ request }) => this.#cancel(request, 'turn-end'))
  }

  #add(request: PermissionRequestEvent): void {
    const { requests } = this.#options
    const abort = new AbortController()
    this.#open.set(request.requestId, { request, abort })
    if (requests && (requests.isOpen?.(request) ?? true)) void this.#ask(request, requests, abort.signal)
  }

  async #ask(request: PermissionRequestEvent, requests: Requests, signal: AbortSignal): Promise<void> {
    const ruled = requests.rule && (await requests.rule(request))
    const { decide, asksNobody } = this.#options
    const answer =
      ruled ?? (asksNobody?.() ? notAsked('dontAsk') : await askForDecision(decide, request, signal))
    const asked = await this.#heeded(request, answer)
    if (signal.aborted || !this.#open.has(request.requestId)) return
    const told = requests.answer(request, asked)
    if (!told) return
    this.#open.delete(request.requestId)
    // Emitted in the same batch, so that it precedes the agent's reaction.
    this.#options.tell(told)
  }

  /** An agent checks what it asks about, not what it is given instead: a denied call would run as an edited one. */
  async #heeded(request: PermissionRequestEvent, asked: AskedDecision): Promise<AskedDecision> {
    const { kind, toolName, toolUseId, input } = request
    const { guard } = this.#options
    const { decision } = asked
    if (guard === undefined || kind !== 'tool' || decision.behavior === 'deny') return asked
    const { updatedInput } = decision
    if (updatedInput === undefined || isDeepStrictEqual(updatedInput, input)) return asked
    const call = { toolName, input: updatedInput, ...(toolUseId === undefined ? {} : { toolUseId }) }
    const verdict = await askGuard(guard, call)
    return verdict.effect === 'deny' ? denied(verdict) : asked
  }

  /**
   * In an adopted turn nobody can answer. A call that has its result closes its request, because the turn may run for
   * hours.
   */
  #closeOf(toolUseId: string): UIEvent[] {
    if (this.#options.requests) return []
    const over = [...this.#open.values()].filter(({ request }) => request.toolUseId === toolUseId)
    return over.map(({ request }) => this.#cancel(request, 'failure'))
  }

  #cancel(
    { sessionId, requestId }: PermissionRequestEvent,
    by: 'turn-end' | 'failure',
  ): PermissionResolvedEvent {
    this.#take(requestId)
    return { type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by }
  }

  #take(requestId: string): boolean {
    this.#open.get(requestId)?.abort.abort()
    return this.#open.delete(requestId)
  }
}

type Ask = NonNullable<HarnessTurnOpts['decide']>

/** Never rejects: no answer, a failed answer and an invalid answer all deny the request. */
export async function askForDecision(
  decide: Ask | undefined,
  request: PermissionRequestEvent,
  signal: AbortSignal,
): Promise<AskedDecision> {
  if (!decide) return refused('Nobody is there to ask.')
  try {
    const decision: unknown = await decide(request, signal)
    if (!isDecision(decision)) return refused('The decision was neither yes nor no.')
    const { by, rule } = decision
    return { decision, by: isDecider(by) ? by : 'person', ...(typeof rule === 'string' ? { rule } : {}) }
  } catch (error) {
    return refused(`The decision failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The answer of a mode in which nobody is asked. */
export function notAsked(permissionMode: PermissionMode): AskedDecision {
  const mode = `permission mode ${permissionMode}`
  const message = `This was not allowed beforehand, and nobody is asked in the ${mode}.`
  return { decision: { behavior: 'deny', message }, by: 'policy', rule: mode }
}

const DECIDERS: Record<DecidedBy, true> = {
  person: true,
  policy: true,
  timeout: true,
  'turn-end': true,
  failure: true,
}

function isDecider(value: unknown): value is DecidedBy {
  return typeof value === 'string' && Object.hasOwn(DECIDERS, value)
}

/** An input that is not an object would reach the agent unchecked. */
function isDecision(value: unknown): value is PermissionDecision {
  if (typeof value !== 'object' || value === null) return false
  const { behavior, updatedInput } = value as { behavior?: unknown; updatedInput?: unknown }
  if (behavior === 'deny') return true
  return behavior === 'allow' && (updatedInput === undefined || isObject(updatedInput))
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refused(message: string): AskedDecision {
  return { decision: { behavior: 'deny', message }, by: 'failure' }
}

/** Never rejects: a guard that fails, or returns an invalid decision, denies the request. */
export async function askGuard(guard: Guard, call: GuardedCall): Promise<GuardVerdict> {
  try {
    const verdict: GuardVerdict = await guard.judge(call)
    if (EFFECTS.has(verdict.effect)) return verdict
    return { effect: 'deny', reason: 'The guard said neither yes nor no.' }
  } catch (error) {
    return { effect: 'deny', reason: `The guard failed: ${error instanceof Error ? error.message : error}` }
  }
}

/**
 * What the user is told about a decision that the agent could not be given as it was. A person who allowed the call with
 * another input must not read that they denied it.
 */
export function givenAs(asked: AskedDecision, decision: PermissionDecision): AskedDecision {
  const isRefused = asked.decision.behavior === 'allow' && decision.behavior === 'deny'
  return isRefused ? { decision, by: 'failure' } : { ...asked, decision }
}

/** What the user is told about a call that the guard denied. */
export function denied({ reason: message, rule }: Extract<GuardVerdict, { effect: 'deny' }>): AskedDecision {
  return { decision: { behavior: 'deny', message }, by: 'policy', ...(rule === undefined ? {} : { rule }) }
}

const EFFECTS: ReadonlySet<unknown> = new Set<GuardVerdict['effect']>(['pass', 'ask', 'deny'])
