import {
  type Cost,
  conditionOf,
  costSoFar,
  type Envelope,
  isDelta,
  type PermissionRequestEvent,
  type TurnEndReason,
  turnCost,
} from '@chirality/core'
import type { Spending } from '../budget/budget-book.ts'
import { SessionFold } from '../store/fold-session.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { SessionStatus } from './session-status.ts'
import { nextPhase, type PhaseInput, type TurnPhase } from './turn-phase.ts'

/** What is known of a session without reading its log: kept up to date event by event. */
export class SessionView {
  readonly #fold: SessionFold
  readonly #onChange: () => void
  #phase: TurnPhase = 'idle'
  #turn: { turnId: string; startedAt: string | null } | undefined

  constructor(session: StoredSession, { onChange }: { onChange: () => void }) {
    this.#fold = new SessionFold(session)
    this.#onChange = onChange
  }

  get session(): StoredSession {
    return this.#fold.session
  }

  /** By all turns so far, with the time since the last event of one that runs. */
  get spent(): Spending {
    const { ledger, workedMs, phase, updatedAt } = this.#fold.summary
    const { usd, tokens, unpricedTokens } = costSoFar(ledger)
    const isRunning = phase === 'running' && updatedAt !== null
    const running = isRunning ? Math.max(0, Date.now() - Date.parse(updatedAt)) : 0
    return { usd, tokens, unpricedTokens, ms: workedMs + running }
  }

  get phase(): TurnPhase {
    return this.#phase
  }

  get turnId(): string | null {
    return this.#turn?.turnId ?? null
  }

  /** What the log says is open. */
  get pending(): readonly PermissionRequestEvent[] {
    return this.#fold.summary.pending
  }

  /** Of the last turn, by the same sums as everywhere. */
  get turnCost(): Cost {
    return turnCost(this.#fold.summary)
  }

  /** Everything but what belongs to the log and the queue. */
  get facts(): Omit<SessionStatus, 'queue' | 'steered' | 'queueHeld' | 'logHealth' | 'policyProblem'> {
    const { id, projectRoot, title, harness, model, persona, mode, lastTurn, ...rest } = this.session
    const { costUsd, costIsEstimate, tokens, workedMs, settings, leftUnanswered } = rest
    return {
      ...{ sessionId: id, projectRoot, title, harness, model, persona, mode, lastTurn, leftUnanswered },
      ...{ costUsd, costIsEstimate, tokens, workedMs },
      budgetUsd: settings.budgetUsd ?? null,
      budgetTokens: settings.budgetTokens ?? null,
      budgetMinutes: settings.budgetMinutes ?? null,
      phase: this.#phase,
      condition: conditionOf({ phase: this.#phase, leftUnanswered, lastTurn }),
      turnId: this.turnId,
      turnStartedAt: this.#turn?.startedAt ?? null,
      updatedAt: rest.updatedAt,
      lastSeq: rest.lastSeq,
      lastLine: rest.progress.lastLine,
      // A turn whose end the log could not take has nobody that an answer could reach.
      pending: this.#turn === undefined ? [] : [...this.pending],
    }
  }

  /** A turn begins; `turn:start` makes it a running one. */
  begin(turnId: string): void {
    this.#turn = { turnId, startedAt: null }
    this.#move('start')
    this.#onChange()
  }

  refused(): void {
    this.#leave('refused')
  }

  settled(): void {
    // A turn whose end the log could not take is over, too.
    this.#move('ended')
    this.#leave('settled')
  }

  /** A turn that an earlier host began goes on. */
  resume(turnId: string, logged: { startedAt: string; ended: TurnEndReason | undefined } | undefined): void {
    this.#turn = { turnId, startedAt: logged?.startedAt ?? null }
    this.#move('start')
    if (logged !== undefined) this.#move('started')
    if (this.pending.length > 0) this.#move('asked')
    if (logged?.ended !== undefined) this.#move('ended')
    this.#onChange()
  }

  /** Envelopes that are in the log already, at the opening of a session. */
  replay(envelopes: readonly Envelope[]): void {
    this.#fold.add(envelopes)
  }

  /** What the log has just taken. Pieces of text change nothing that is shown here. */
  note(envelopes: readonly Envelope[]): void {
    this.#fold.add(envelopes)
    for (const envelope of envelopes) this.#see(envelope)
    if (envelopes.some(({ event }) => !isDelta(event))) this.#onChange()
  }

  #see({ event, at }: Envelope): void {
    switch (event.type) {
      case 'turn:start':
        if (this.#turn !== undefined) this.#turn.startedAt ??= at
        this.#move('started')
        break
      case 'turn:end':
        this.#move('ended')
        break
      case 'permission:request':
        this.#move('asked')
        break
      case 'permission:resolved':
        if (this.pending.length === 0) this.#move('answered')
        break
    }
  }

  /** What was changed by hand: a title, the settings. */
  replace(changes: Partial<Pick<StoredSession, 'title' | 'settings'>>): void {
    this.#fold.change(changes)
    this.#onChange()
  }

  #leave(input: 'refused' | 'settled'): void {
    this.#move(input)
    this.#turn = undefined
    this.#onChange()
  }

  #move(input: PhaseInput): void {
    this.#phase = nextPhase(this.#phase, input) ?? this.#phase
  }
}
