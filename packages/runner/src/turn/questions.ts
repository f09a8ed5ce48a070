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
  /** Absent where nobody can answer: the agent's stdin went with the Chirality that held it. */
  requests: Requests | undefined
  decide: Ask | undefined
  /** For the answers that people and rules give. */
  tell(event: UIEvent): void
}

/** What the agent asks during a turn. Each question is answered once, or withdrawn, or closed with the turn. */
export class Questions {
  readonly #options: QuestionsOptions
  readonly #open = new Map<string, { request: PermissionRequestEvent; abort: AbortController }>()

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  get areOpen(): boolean {
    return this.#open.size > 0
  }

  /** What is told of an event of the agent, now that the question behind it is known. */
  see(event: UIEvent): UIEvent[] {
    switch (event.type) {
      case 'permission:request':
        // Before it is told: whoever sees it can answer at once.
        this.#add(event)
        return [event]
      case 'permission:resolved':
        // An answer may cross a withdrawal; the first of them counts.
        return this.#take(event.requestId) ? [event] : []
      case 'tool:result':
        return [...this.#closeOf(event.toolUseId), event]
      default:
        return [event]
    }
  }

  /** The turn is being stopped: the agent withdraws what it asked, so that no answer is waited for. */
  abandon(): void {
    for (const { abort } of this.#open.values()) abort.abort()
  }

  /** Nobody is asked any more. */
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
    // In the same breath, so that it stands before what the agent makes of it.
    this.#options.tell(told)
  }

  /** Where nobody can answer, a call that is over waits for no answer any more, though the turn may go on for hours. */
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

/** Never rejects: no answer, a failed one and one that makes no sense all mean no. */
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

/** A changed input that is no object would reach the agent as who knows what. */
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

/** Never rejects: a guard that fails, or says what makes no sense, has said no. */
export async function askGuard(guard: Guard, call: GuardedCall): Promise<GuardVerdict> {
  try {
    const verdict: GuardVerdict = await guard.judge(call)
    if (EFFECTS.has(verdict.effect)) return verdict
    return { effect: 'deny', reason: 'The guard said neither yes nor no.' }
  } catch (error) {
    return { effect: 'deny', reason: `The guard failed: ${error instanceof Error ? error.message : error}` }
  }
}

const EFFECTS: ReadonlySet<unknown> = new Set<GuardVerdict['effect']>(['pass', 'ask', 'deny'])
