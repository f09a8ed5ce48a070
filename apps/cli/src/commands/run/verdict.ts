import path from 'node:path'
import type { SessionErrorCode, TurnEndReason, UIEvent } from '@chirality/core'

/** How a turn ended, and what its user can do about it. */
export class Verdict {
  reason: TurnEndReason = 'crashed'
  error: SessionErrorCode | null = null
  readonly #logs: string
  #nativeSessionId: string | null = null

  constructor(projectRoot: string) {
    this.#logs = path.join(projectRoot, '.chirality', 'logs')
  }

  see(event: UIEvent): void {
    if (event.type === 'turn:end') this.reason = event.reason
    if (event.type === 'session:error' && !event.recovered) this.error = event.code
    if (event.type === 'session:init') this.#nativeSessionId = event.claudeSessionId
  }

  /** A line for stderr, empty when all is well. */
  advice(): string {
    const text = this.#text()
    return text === '' ? '' : `chirality: ${text}\n`
  }

  #text(): string {
    switch (this.reason) {
      case 'completed':
        return ''
      case 'interrupted':
        return `Interrupted. ${this.#goOn()}`.trim()
      case 'killed':
        return `The agent was stopped. ${this.#goOn()}`.trim()
      case 'timeout':
        return `Stopped by the timeout. Raise --timeout. ${this.#goOn()}`.trim()
      case 'max_turns':
        return `The turn limit is reached. Raise --max-turns. ${this.#goOn()}`.trim()
      case 'budget':
        return `The budget is used up. ${this.#goOn()}`.trim()
      default:
        return this.error === 'auth_failed' ? LOGIN : `The turn failed. The raw log is in ${this.#logs}.`
    }
  }

  /** Only what the agent has begun can be continued. */
  #goOn(): string {
    return this.#nativeSessionId ? `Continue with --session ${this.#nativeSessionId}.` : ''
  }
}

const LOGIN =
  'Not logged in. Run `claude` once and type /login, or set ANTHROPIC_API_KEY; `chirality doctor` shows what is there.'
