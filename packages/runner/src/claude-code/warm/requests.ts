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

/** The agent's permission requests of a turn, which arrive through its control channel. */
export class ControlRequests implements Requests {
  readonly #live: LiveClaude
  readonly #asked = new Set<string>()

  constructor(live: LiveClaude) {
    this.#live = live
  }

  /** Has to be called for every event of the agent, with the translator's events for it. */
  see(native: ClaudeEvent, events: UIEvent[]): void {
    if (native.type !== 'control_request') return
    const requests = events.filter(event => event.type === 'permission:request')
    for (const { requestId } of requests) this.#asked.add(requestId)
    const isForGuard = this.#live.launch.guard?.requestIn(native) !== undefined
    const { request_id: id, request } = native
    // A request that cannot be shown to a person.
    if (requests.length === 0 && !isForGuard && typeof id === 'string')
      this.#live.control.respondError(id, `Chirality does not do ${questionOf(request).subtype}.`)
  }

  /** A call that the guard denied is emitted as a request too, but needs no answer. */
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
      // An input that cannot be serialised as JSON, for example one with a circular reference.
      control.respondError(requestId, UNSENDABLE)
      const decision: PermissionDecision = { behavior: 'deny', message: UNSENDABLE }
      return decisionTold(request, { decision, by: 'failure' })
    }
  }

  /** The turn's events are not read any more. */
  refuse({ requestId }: PermissionRequestEvent): void {
    if (this.#asked.has(requestId)) this.#live.control.respondError(requestId, NOBODY_READS)
  }
}

const UNSENDABLE = 'The decision could not be sent, so it means no.'
const NOBODY_READS = 'The turn is being stopped: nobody can be asked any more.'

/** The fields of a control request that the answer depends on. */
interface ClaudeQuestion {
  subtype: string
  input: Record<string, unknown>
  suggestions: unknown[]
}

/** `response` answers the request; if it is undefined, only an error can be sent. */
interface ClaudeAnswer {
  response?: Record<string, unknown>
  error?: string
  /** A notice for the user if the agent gets less than the user allowed. */
  note?: string
}

/** A decision in the CLI's format; the CLI treats every other format as a denial. */
export function claudeAnswer(question: ClaudeQuestion, decision: PermissionDecision): ClaudeAnswer {
  if (decision.behavior === 'deny') {
    const message = wordsOf(decision.message) || DENIED
    if (question.subtype !== TOOL_USE) return { error: message }
    return { response: { behavior: 'deny', message, ...(decision.interrupt ? { interrupt: true } : {}) } }
  }
  // 2.1.197 treats an allow without its input as a denial.
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

/** Checked at run time, because programs answer too. */
function wordsOf(message: unknown): string {
  return typeof message === 'string' ? message.trim() : ''
}

const TOOL_USE = 'can_use_tool'
const DENIED = 'The user does not allow this.'
const NOTHING_TO_REMEMBER = 'The agent suggests no rule for the like of this.'
