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
import type { CallFolders } from '../decisions/policy/tool-call.ts'
import { type ChosenFields, SessionFold } from '../store/fold-session.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { SessionStatus, SessionWorktree } from './session-status.ts'
import { nextPhase, type PhaseInput, type TurnPhase } from './turn-phase.ts'

export interface SessionViewOptions {
  onChange: () => void
  worktree?: SessionWorktree | undefined
}

/** The state of a session, updated event by event, without reading its log. */
export class SessionView {
  readonly #fold: SessionFold
  readonly #onChange: () => void
  /** Undefined if the agent works in the project's folder. */
  readonly worktree: SessionWorktree | undefined
  #phase: TurnPhase = 'idle'
  #turn: { turnId: string; startedAt: string | null } | undefined

  constructor(session: StoredSession, { onChange, worktree }: SessionViewOptions) {
    this.#fold = new SessionFold(session)
    this.#onChange = onChange
    this.worktree = worktree
  }

  get session(): StoredSession {
    return this.#fold.session
  }

  get folders(): CallFolders {
    return { projectRoot: this.session.projectRoot, workFolder: this.worktree?.folder ?? undefined }
  }

  /** Asked for with each batch of events, for which a whole session would be too much. */
  get settings(): StoredSession['settings'] {
    return this.#fold.settings
  }

  get model(): string | null {
    return this.#fold.summary.agent.model
  }

  /** The spending of all turns, with the time since the last event of a running one. */
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

  /** The open requests in the log. */
  get pending(): readonly PermissionRequestEvent[] {
    return this.#fold.summary.pending
  }

  /** The cost of the last turn. */
  get turnCost(): Cost {
    return turnCost(this.#fold.summary)
  }

  /** All fields except those of the log and the queue. */
  get facts(): Omit<SessionStatus, 'queue' | 'steered' | 'queueHeld' | 'logHealth' | 'policyProblem'> {
    const { id, projectRoot, title, harness, model, persona, mode, lastTurn, ...rest } = this.session
    const { costUsd, costIsEstimate, tokens, workedMs, settings, leftUnanswered, shelf } = rest
    return {
      sessionId: id,
      projectRoot,
      title,
      harness,
      model,
      persona,
      mode,
      lastTurn,
      leftUnanswered,
      shelf,
      costUsd,
      costIsEstimate,
      tokens,
      workedMs,
      budgetUsd: settings.budgetUsd ?? null,
      budgetTokens: settings.budgetTokens ?? null,
      budgetMinutes: settings.budgetMinutes ?? null,
      ...(this.worktree ? { worktree: this.worktree } : {}),
      phase: this.#phase,
      condition: conditionOf({ phase: this.#phase, leftUnanswered, lastTurn }),
      turnId: this.turnId,
      turnStartedAt: this.#turn?.startedAt ?? null,
      updatedAt: rest.updatedAt,
      lastSeq: rest.lastSeq,
      lastLine: rest.progress.lastLine,
      // When the end of a turn could not be logged, no answer can reach its agent.
      pending: this.#turn === undefined ? [] : [...this.pending],
    }
  }

  /** A turn is starting; `turn:start` makes it a running one. */
  begin(turnId: string): void {
    this.#turn = { turnId, startedAt: null }
    this.#move('start')
    this.#onChange()
  }

  refused(): void {
    this.#leave('refused')
  }

  settled(): void {
    // A turn whose end could not be logged has ended as well.
    this.#move('ended')
    this.#leave('settled')
  }

  /** Continues a turn that an earlier host started. */
  resume(turnId: string, logged: { startedAt: string; ended: TurnEndReason | undefined } | undefined): void {
    this.#turn = { turnId, startedAt: logged?.startedAt ?? null }
    this.#move('start')
    if (logged !== undefined) this.#move('started')
    if (this.pending.length > 0) this.#move('asked')
    if (logged?.ended !== undefined) this.#move('ended')
    this.#onChange()
  }

  /** Applies the envelopes of the log when a session is opened. */
  replay(envelopes: readonly Envelope[]): void {
    this.#fold.add(envelopes)
  }

  /** Applies new envelopes of the log. Deltas change nothing here. */
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

  /** Applies what the user changed. */
  replace(changes: ChosenFields): void {
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
