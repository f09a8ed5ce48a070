import type { PermissionRequestEvent, PermissionResolvedEvent, UIEvent } from '@chirality/core'
import { type Ask, askForDecision } from './ask.ts'
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
