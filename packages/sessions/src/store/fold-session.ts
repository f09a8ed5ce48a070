import { addCost, costSoFar, type Envelope, type UIEvent } from '@chirality/core'
import { isLeftUnanswered } from '../log/turn-events.ts'
import { originIn } from './fork-history.ts'
import type { StoredSession } from './stored-session.ts'

/**
 * Brings a stored session up to date with its log. Envelopes at or before its `lastSeq` are skipped, so what overlaps is
 * harmless. Small on purpose: a view of the whole conversation is `reduceSession`.
 */
export class SessionFold {
  #session: StoredSession
  readonly #pending = new Set<string>()
  #turnId: string | null = null

  constructor(session: StoredSession) {
    this.#session = { ...session }
  }

  get session(): StoredSession {
    return { ...this.#session }
  }

  /** The turn that has begun and not ended. */
  get openTurn(): { turnId: string | null } | undefined {
    return this.#session.status === 'idle' ? undefined : { turnId: this.#turnId }
  }

  /** What the log does not say: a title that was given, settings. */
  change(changes: Partial<StoredSession>): void {
    this.#session = { ...this.#session, ...changes }
  }

  add(envelopes: readonly Envelope[]): this {
    for (const envelope of envelopes) {
      if (envelope.seq <= this.#session.lastSeq) continue
      this.#work(envelope)
      this.#apply(envelope)
      this.#session.lastSeq = envelope.seq
      if (envelope.event.type !== 'log:gap') this.#session.updatedAt = envelope.at
    }
    return this
  }

  #apply({ event, turnId }: Envelope): void {
    const session = this.#session
    this.#spend(event)
    switch (event.type) {
      case 'turn:start':
        session.status = 'running'
        session.leftUnanswered = false
        session.turnCount += 1
        session.title ??= titleFrom(event.message)
        this.#turnId = turnId
        return
      case 'turn:end':
        session.status = 'idle'
        session.lastTurn = event.reason
        this.#pending.clear()
        return
      case 'session:init':
        session.claudeSessionId = event.claudeSessionId
        session.model = event.model
        session.harness = event.harness ?? session.harness
        return
      case 'status': {
        session.leftUnanswered ||= isLeftUnanswered(event)
        const forkedFrom = originIn(event)
        if (forkedFrom === null) return
        // What the log says of an agent's conversation before this is the other session's.
        session.forkedFrom = forkedFrom
        session.claudeSessionId = null
        session.leftUnanswered = false
        return
      }
      case 'permission:request':
        this.#pending.add(event.requestId)
        session.status = 'waiting'
        return
      case 'permission:resolved':
        this.#pending.delete(event.requestId)
        if (this.#pending.size === 0 && session.status === 'waiting') session.status = 'running'
        return
    }
  }

  /** The time since the last event, unless a person was waited for. */
  #work({ at, event }: Envelope): void {
    const { status, updatedAt } = this.#session
    if (status !== 'running' || event.type === 'log:gap') return
    const passed = Date.parse(at) - Date.parse(updatedAt)
    if (passed > 0) this.#session.workedMs += passed
  }

  #spend(event: UIEvent): void {
    const ledger = addCost(this.#session.ledger, event)
    if (ledger === this.#session.ledger) return
    const { usd: costUsd, isEstimate: costIsEstimate, tokens } = costSoFar(ledger)
    Object.assign(this.#session, { ledger, costUsd, costIsEstimate, tokens })
  }
}

const MAX_TITLE_CHARS = 80

/** The first line of what was asked; null when there is none. */
function titleFrom(message: string): string | null {
  const line = message.trim().split('\n', 1)[0]?.trim() ?? ''
  if (line === '') return null
  return line.length > MAX_TITLE_CHARS ? `${line.slice(0, MAX_TITLE_CHARS - 1).trimEnd()}…` : line
}
