import path from 'node:path'
import {
  loginWords,
  newSummary,
  type SessionErrorCode,
  summarize,
  type TurnEndReason,
  type UIEvent,
} from '@chirality/core'
import { HARNESSES, harnessMeta } from '@chirality/runner'

/** How a turn ended, and what the user can do. */
export class Verdict {
  /** The first denied call, as text. */
  denial: string | null = null
  readonly #logs: string
  readonly #harness: string
  readonly #summary = newSummary('')

  constructor(projectRoot: string, harness: string) {
    this.#harness = harness
    this.#logs = path.join(projectRoot, '.chirality', 'logs')
  }

  see(event: UIEvent): void {
    summarize(this.#summary, { event, at: '', turnId: null })
    this.denial ??= denialIn(event)
  }

  /** A turn without an end event crashed. */
  get reason(): TurnEndReason {
    return this.#summary.turn?.reason ?? 'crashed'
  }

  get error(): SessionErrorCode | null {
    return this.#summary.error?.code ?? null
  }

  /** A line for stderr, empty if the turn succeeded. */
  advice(): string {
    const text = this.#text()
    return text === '' ? '' : `chirality: ${text}\n`
  }

  #text(): string {
    if (this.reason === 'completed') return ''
    const stop = STOPS[this.reason]
    if (stop) return `${stop} ${this.#goOn()}`.trim()
    return `${this.#failure()} The raw log is in ${this.#logs}.`
  }

  #failure(): string {
    if (this.error === 'auth_failed') {
      const credential = this.#summary.error?.credential
      if (credential) return `The key in ${credential} was refused. Correct it, or unset it and log in.`
      return `Not logged in. ${loginWords(harnessMeta(this.#harness) ?? HARNESSES[0].meta)}; \`chirality doctor\` shows what is there.`
    }
    return FAILURES[this.error ?? 'unknown'] ?? 'The turn failed.'
  }

  /** Only a conversation that the agent has begun can be continued. */
  #goOn(): string {
    const { nativeSessionId } = this.#summary.agent
    return nativeSessionId ? `Continue with --session ${nativeSessionId}.` : ''
  }
}

function denialIn(event: UIEvent): string | null {
  if (event.type === 'permission:resolved' && event.outcome === 'denied')
    return event.message ?? 'Not allowed.'
  return event.type === 'status' && event.status === 'permission_denied' ? event.message : null
}

const STOPS: Readonly<Partial<Record<TurnEndReason, string>>> = {
  interrupted: 'Interrupted.',
  killed: 'The agent was stopped.',
  timeout: 'Stopped by the timeout. Raise --timeout.',
  max_turns: 'The turn limit is reached. Raise --max-turns.',
  budget: 'The budget is used up. Raise it with "chirality budget set".',
}

const FAILURES: Readonly<Partial<Record<SessionErrorCode, string>>> = {
  billing: 'The account cannot pay for this turn.',
  context_overflow: 'Too long for the model. Shorten the prompt or start a new session.',
  model_not_found: 'The model is not available. Check --model.',
  overloaded: 'The model is overloaded. Try again later.',
  rate_limited: 'A rate limit is reached. Try again later.',
}
