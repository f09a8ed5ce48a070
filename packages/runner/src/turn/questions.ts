import type {
  AskedDecision,
  DecidedBy,
  Guard,
  GuardedCall,
  GuardVerdict,
  HarnessTurnOpts,
  PermissionDecision,
  PermissionRequestEvent,
  PermissionResolvedEvent,
  UIEvent,
} from '@chirality/core'
import type { Requests } from './connection.ts'

export interface QuestionsOptions {
  /** Undefined if no answer can be sent: the agent's stdin was closed when the server that held it exited. */
  requests: Requests | undefined
  decide: Ask | undefined
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
    const asked = ruled ?? (await askForDecision(this.#options.decide, request, signal))
    if (signal.aborted || !this.#open.has(request.requestId)) return
    const told = requests.answer(request, asked)
    if (!told) return
    this.#open.delete(request.requestId)
    // Emitted in the same batch, so that it precedes the agent's reaction.
    this.#options.tell(told)
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

const DECIDERS: Record<DecidedBy, true> = {
  ...{ person: true, policy: true, timeout: true },
  ...{ 'turn-end': true, failure: true },
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

/** What the user is told about a call that the guard denied. */
export function denied({ reason: message, rule }: Extract<GuardVerdict, { effect: 'deny' }>): AskedDecision {
  return { decision: { behavior: 'deny', message }, by: 'policy', ...(rule === undefined ? {} : { rule }) }
}

const EFFECTS: ReadonlySet<unknown> = new Set<GuardVerdict['effect']>(['pass', 'ask', 'deny'])
