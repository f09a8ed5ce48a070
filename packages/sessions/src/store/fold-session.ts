import { type Envelope, PRICES, type PriceTable, type UIEvent } from '@chirality/core'
import { CostMeter, roundUsd } from '../budget/cost-meter.ts'
import type { StoredSession } from './stored-session.ts'

/**
 * Brings a stored session up to date with its log. Envelopes at or before its `lastSeq` are skipped, so what overlaps is
 * harmless. Small on purpose: a view of the whole conversation is `reduceSession`.
 */
export class SessionFold {
  #session: StoredSession
  readonly #pending = new Set<string>()
  readonly #prices: PriceTable
  #turnId: string | null = null
  #meter: CostMeter

  constructor(session: StoredSession, prices: PriceTable = PRICES) {
    this.#session = { ...session }
    this.#prices = prices
    this.#meter = new CostMeter(prices)
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
      this.#apply(envelope)
      this.#session.lastSeq = envelope.seq
      if (envelope.event.type !== 'log:gap') this.#session.updatedAt = envelope.at
    }
    return this
  }

  #apply({ event, turnId }: Envelope): void {
    const session = this.#session
    switch (event.type) {
      case 'turn:start':
        session.status = 'running'
        session.turnCount += 1
        session.title ??= titleFrom(event.message)
        this.#turnId = turnId
        this.#meter = new CostMeter(this.#prices)
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
        this.#spend(event)
        return
      case 'usage':
      case 'session:complete':
      case 'session:error':
        this.#spend(event)
        return
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

  #spend(event: UIEvent): void {
    const before = this.#meter.totalUsd
    this.#meter.add(event)
    this.#session.costUsd = roundUsd(this.#session.costUsd + this.#meter.totalUsd - before)
  }
}

const MAX_TITLE_CHARS = 80

/** The first line of what was asked; null when there is none. */
function titleFrom(message: string): string | null {
  const line = message.trim().split('\n', 1)[0]?.trim() ?? ''
  if (line === '') return null
  return line.length > MAX_TITLE_CHARS ? `${line.slice(0, MAX_TITLE_CHARS - 1).trimEnd()}…` : line
}
