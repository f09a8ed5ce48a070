import { beginsConversation, type Envelope, foldSummary, type SessionSummary } from '@chirality/core'
import { originIn } from './fork-history.ts'
import type { SessionSettings } from './session-settings.ts'
import { type StoredSession, sessionSummary, withSummary } from './stored-session.ts'

/** The fields that a person chooses, and the log does not have. */
export type ChosenFields = Partial<Pick<StoredSession, 'title' | 'settings' | 'mode' | 'shelf'>>

/**
 * Brings a stored session up to date with its log: the summary of core, the origin of a fork, and where the agent's own
 * conversation begins anew. Envelopes at or before its `lastSeq` are skipped, so an overlap is harmless.
 */
export class SessionFold {
  #stored: StoredSession
  #summary: SessionSummary
  /** Both of them together, until one changes. */
  #session: StoredSession | undefined

  constructor(session: StoredSession) {
    this.#stored = session
    this.#summary = sessionSummary(session)
  }

  get session(): StoredSession {
    this.#session ??= withSummary(this.#stored, this.#summary)
    return this.#session
  }

  get settings(): SessionSettings {
    return this.#stored.settings
  }

  get summary(): SessionSummary {
    return this.#summary
  }

  /** The turn that has begun and not ended. */
  get openTurn(): { turnId: string | null } | undefined {
    const { phase, turn } = this.#summary
    return phase === 'idle' ? undefined : { turnId: turn?.id ?? null }
  }

  change(changes: ChosenFields): void {
    this.#session = undefined
    this.#stored = { ...this.#stored, ...changes }
    if (changes.title !== undefined) this.#summary = { ...this.#summary, title: changes.title }
  }

  add(envelopes: readonly Envelope[]): this {
    this.#session = undefined
    for (const { event, seq } of envelopes) {
      if (seq <= this.#summary.seq || event.type !== 'status') continue
      const forkedFrom = originIn(event)
      if (forkedFrom !== null) this.#stored = { ...this.#stored, forkedFrom }
      if (beginsConversation(event)) this.#stored = { ...this.#stored, accountUpTo: seq }
    }
    this.#summary = foldSummary(this.#summary, envelopes)
    return this
  }
}
