import {
  type AskedDecision,
  type ClaudeEvent,
  decisionTold,
  type PermissionRequestEvent,
  type UIEvent,
} from '@chirality/core'
import type { Requests } from '../../turn/connection.ts'
import { claudeAnswer, questionOf } from './decisions.ts'
import type { LiveClaude } from './live-claude.ts'

/** What the agent asks through its control channel during a turn. */
export class ControlRequests implements Requests {
  readonly #live: LiveClaude
  readonly #asked = new Set<string>()

  constructor(live: LiveClaude) {
    this.#live = live
  }

  /** To be told of every event of the agent, and of what the translator made of it. */
  see(native: ClaudeEvent, events: UIEvent[]): void {
    if (native.type !== 'control_request') return
    const requests = events.filter(event => event.type === 'permission:request')
    for (const { requestId } of requests) this.#asked.add(requestId)
    const isForGuard = this.#live.launch.guard?.requestIn(native) !== undefined
    const { request_id: id, request } = native
    // For a question that nobody can be shown.
    if (requests.length === 0 && !isForGuard && typeof id === 'string')
      this.#live.control.respondError(id, `Chirality does not do ${questionOf(request).subtype}.`)
  }

  /** What its guard denied is told as a request, too. */
  isOpen({ requestId }: PermissionRequestEvent): boolean {
    return this.#asked.has(requestId)
  }

  answer(request: PermissionRequestEvent, asked: AskedDecision): UIEvent {
    const { requestId, raw } = request
    const { control } = this.#live
    const question = questionOf((raw as { request?: unknown }).request)
    const { response, error = '', note } = claudeAnswer(question, asked.decision)
    const told = decisionTold(request, asked, note)
    try {
      if (response) control.respond(requestId, response)
      else control.respondError(requestId, error)
      return told
    } catch {
      // An input that is no JSON: it has a circle, say.
      control.respondError(requestId, UNSENDABLE)
      return { ...told, outcome: 'denied', by: 'failure', message: UNSENDABLE }
    }
  }

  /** Nobody reads the turn any more. */
  refuse({ requestId }: PermissionRequestEvent): void {
    if (this.#asked.has(requestId)) this.#live.control.respondError(requestId, NOBODY_READS)
  }
}

const UNSENDABLE = 'The decision could not be sent, so it means no.'
const NOBODY_READS = 'The turn is being stopped: nobody can be asked any more.'
