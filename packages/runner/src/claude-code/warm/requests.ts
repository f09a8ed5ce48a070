import {
  type AskedDecision,
  type ClaudeEvent,
  decisionTold,
  narrowestSuggestion,
  type PermissionDecision,
  type PermissionRequestEvent,
  type UIEvent,
} from '@chirality/core'
import { asObject } from '../../common/json.ts'
import type { Requests } from '../../turn/connection.ts'
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

/** The agent's question, as far as the answer depends on it. */
interface ClaudeQuestion {
  subtype: string
  input: Record<string, unknown>
  suggestions: unknown[]
}

/** `response` answers the question; where there is none, only an error can. */
interface ClaudeAnswer {
  response?: Record<string, unknown>
  error?: string
  /** For the person, when a yes became less than was asked for. */
  note?: string
}

/** A decision in the form that the CLI takes: every other one it takes for a no. */
export function claudeAnswer(question: ClaudeQuestion, decision: PermissionDecision): ClaudeAnswer {
  if (decision.behavior === 'deny') {
    const message = wordsOf(decision.message) || DENIED
    if (question.subtype !== TOOL_USE) return { error: message }
    return { response: { behavior: 'deny', message, ...(decision.interrupt ? { interrupt: true } : {}) } }
  }
  // 2.1.197 takes an allow without its input for a no.
  const updatedInput = decision.updatedInput ?? question.input
  if (!decision.remember) return { response: { behavior: 'allow', updatedInput } }
  const rule = narrowestSuggestion(question.suggestions)?.suggestion
  if (!rule) return { response: { behavior: 'allow', updatedInput }, note: NOTHING_TO_REMEMBER }
  const kept = decision.remember === 'session' ? { ...rule, destination: 'session' } : rule
  return { response: { behavior: 'allow', updatedInput, updatedPermissions: [kept] } }
}

/** What a control request asks. */
export function questionOf(request: unknown): ClaudeQuestion {
  const { subtype, input, permission_suggestions: suggestions } = asObject(request)
  return {
    subtype: String(subtype),
    input: asObject(input),
    suggestions: Array.isArray(suggestions) ? suggestions : [],
  }
}

/** Answers come from programs, too. */
function wordsOf(message: unknown): string {
  return typeof message === 'string' ? message.trim() : ''
}

const TOOL_USE = 'can_use_tool'
const DENIED = 'The user does not allow this.'
const NOTHING_TO_REMEMBER = 'The agent suggests no rule for the like of this.'
