import {
  type ClaudeEvent,
  decisionTold,
  type PermissionRequestEvent,
  type PermissionResolvedEvent,
  type UIEvent,
} from '@chirality/core'
import { type Ask, askForDecision } from '../../turn/ask.ts'
import { claudeAnswer, questionOf } from './decisions.ts'
import type { LiveClaude } from './live-claude.ts'

/** What the agent asks during a turn. Each question is answered once, or withdrawn, or closed with the turn. */
export class Requests {
  readonly #live: LiveClaude
  #decide: Ask | undefined
  readonly #open = new Map<string, { event: PermissionRequestEvent; abort: AbortController }>()

  constructor(live: LiveClaude, decide: Ask | undefined) {
    this.#live = live
    this.#decide = decide
  }

  get areOpen(): boolean {
    return this.#open.size > 0
  }

  /** What of the translator's events is to be told, now that the question behind them is known. */
  see(native: ClaudeEvent, events: UIEvent[]): UIEvent[] {
    const isForGuard = this.#live.launch.guard?.requestIn(native) !== undefined
    if (native.type === 'control_request' && !isForGuard && !events.some(isRequest)) this.#refuse(native)
    return events.filter(event => {
      if (isRequest(event)) void this.#ask(event)
      // An answer may cross a withdrawal; it was told already.
      return !isWithdrawal(event) || this.#withdraw(event.requestId)
    })
  }

  /** Nobody is asked any more: what still comes is denied. */
  close(): UIEvent[] {
    this.#decide = undefined
    const closed = [...this.#open.values()].map(({ event, abort }): UIEvent => {
      abort.abort()
      const { sessionId, requestId } = event
      return { type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by: 'turn-end' }
    })
    this.#open.clear()
    return closed
  }

  async #ask(event: PermissionRequestEvent): Promise<void> {
    const { requestId, raw } = event
    const abort = new AbortController()
    this.#open.set(requestId, { event, abort })
    const asked = await askForDecision(this.#decide, event, abort.signal)
    if (!this.#open.delete(requestId)) return
    const question = questionOf((raw as { request?: unknown }).request)
    const { response, error = '', note } = claudeAnswer(question, asked.decision)
    let told = decisionTold(event, asked, note)
    try {
      if (response) this.#live.control.respond(requestId, response)
      else this.#live.control.respondError(requestId, error)
    } catch {
      // An input that is no JSON: it has a circle, say.
      this.#live.control.respondError(requestId, UNSENDABLE)
      told = { ...told, outcome: 'denied', by: 'failure', message: UNSENDABLE }
    }
    // In the same breath, so that it stands before what the agent makes of it.
    void this.#live.inbox.push({ kind: 'told', event: told })
  }

  /** For a question that nobody can be shown. */
  #refuse({ request_id: id, request }: ClaudeEvent & { type: 'control_request' }): void {
    if (typeof id !== 'string') return
    this.#live.control.respondError(id, `Chirality does not do ${questionOf(request).subtype}.`)
  }

  #withdraw(requestId: string): boolean {
    this.#open.get(requestId)?.abort.abort()
    return this.#open.delete(requestId)
  }
}

const UNSENDABLE = 'The decision could not be sent, so it means no.'

function isRequest(event: UIEvent): event is PermissionRequestEvent {
  return event.type === 'permission:request'
}

function isWithdrawal(event: UIEvent): event is PermissionResolvedEvent {
  return event.type === 'permission:resolved'
}
