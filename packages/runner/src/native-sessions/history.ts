import type { Envelope, TurnEndReason, UIEvent } from '@chirality/core'

export interface HistoryTurn {
  id: string
  message: string
  attachments?: number
}

/** Converts an agent's stored conversation to envelopes. */
export class NativeHistory {
  readonly envelopes: Envelope[] = []
  readonly #sessionId: string
  #turnId: string | null = null
  #at: string

  /** `at` is the time of entries without their own. */
  constructor(sessionId: string, at: string) {
    this.#sessionId = sessionId
    this.#at = at
  }

  get hasTurn(): boolean {
    return this.#turnId !== null
  }

  startTurn({ id, message, attachments = 0 }: HistoryTurn, at: string | undefined): void {
    this.#turnId = id
    const sessionId = this.#sessionId
    this.add([{ type: 'turn:start', sessionId, message, ...(attachments > 0 ? { attachments } : {}) }], at)
  }

  endTurn(reason: TurnEndReason, at?: string, durationMs?: number): void {
    const sessionId = this.#sessionId
    const duration = durationMs === undefined ? {} : { durationMs }
    this.add([{ type: 'turn:end', sessionId, reason, ...duration }], at)
    this.#turnId = null
  }

  add(events: readonly UIEvent[], at?: string): void {
    this.#at = isoTime(at) ?? this.#at
    for (const event of events) {
      const seq = this.envelopes.length + 1
      this.envelopes.push({ seq, at: this.#at, sessionId: this.#sessionId, turnId: this.#turnId, event })
    }
  }

  addGap({ missing, reason }: { missing: number; reason: string }): void {
    const event: UIEvent = {
      type: 'log:gap',
      sessionId: this.#sessionId,
      afterSeq: this.envelopes.length,
      missing,
      reason,
    }
    this.add([event])
  }
}

function isoTime(text: string | undefined): string | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
