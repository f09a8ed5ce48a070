import type { UIEvent } from '@chirality/core'
import { OneAfterTheOther } from '@chirality/disk'
import type { Spending } from '../budget/budget-book.ts'
import { NO_SPENDING, type SpendingLimit, spentSince } from '../budget/budget-limits.ts'
import { limitsOfTurn, type TurnBudget, usedUpText } from '../budget/limits-of-turn.ts'
import { faultRow } from '../harness-log/rows.ts'
import { notice } from '../log/turn-events.ts'
import type { SessionView } from '../status/session-view.ts'
import type { ProjectContext } from './host-context.ts'
import type { SessionRecorder } from './record/session-recorder.ts'
import { storedStages, through } from './stages.ts'
import { pricedEvents } from './turn-watch.ts'

export interface BetweenTurnsOptions {
  project: ProjectContext
  view: SessionView
  recorder: SessionRecorder
  /** The user's current limit for the session. */
  sessionLimit: () => SpendingLimit
}

/**
 * Stores what a kept agent says and spends while no turn runs, as it comes: a command in the background has ended, say. It belongs
 * to no turn, and no turn counts what it cost.
 */
export class BetweenTurns {
  readonly #options: BetweenTurnsOptions
  #turn: TurnBudget | undefined
  #personaLimit: SpendingLimit = {}
  /** The agent was stopped since the last turn. */
  #isStopped = false
  readonly #recording = new OneAfterTheOther()
  readonly #counting = new OneAfterTheOther()

  constructor(options: BetweenTurnsOptions) {
    this.#options = options
  }

  /** Never throws: what cannot be stored is told in harness.log. */
  take(events: readonly UIEvent[]): void {
    void this.#recording.run(() => this.#record(events).catch(error => this.#fault(error)))
  }

  /**
   * A turn is about to start, or runs: what it has cost is the growth of the session's cost since it began, without what is
   * stored here. Undefined when there is none.
   */
  beside(turn: TurnBudget | undefined): void {
    this.#turn = turn
    if (turn === undefined) return
    this.#personaLimit = turn.personaLimit
    this.#isStopped = false
  }

  /** All that was taken is in the log, and what it cost is counted. Never rejects. */
  async settled(): Promise<void> {
    await this.#recording.settled()
    await this.#counting.settled()
    // An agent that was stopped meanwhile may have said more.
    await this.#recording.settled()
  }

  async #record(said: readonly UIEvent[]): Promise<void> {
    const { view, recorder } = this.#options
    const stages = storedStages(events => this.#priced(events), view.folders)
    const events = through(stages, said)
    const before = view.spent
    // Nothing else may be recorded between the two sums.
    const waiting = recorder.record(events, null)
    if (waiting) await waiting
    const spent = { ...spentSince(before, view.spent), ms: 0 }
    if (!spent.usd && spent.tokens === 0 && spent.unpricedTokens === 0) return
    if (this.#turn) this.#turn.session = sum(this.#turn.session, spent)
    const id = `between-turns:${view.session.id}:${view.session.lastSeq}`
    void this.#counting.run(async () => {
      try {
        await this.#count(id, spent)
        await this.#requireBudget()
      } catch (error) {
        this.#fault(error)
      }
    })
  }

  /** Ends an agent that goes on spending a used-up budget after its turn. A turn that runs is stopped by its own watch. */
  async #requireBudget(): Promise<void> {
    const { project, view, recorder, sessionLimit } = this.#options
    const { id } = view.session
    const ofProject = await project.budget.limitsFor('')
    if (this.#turn !== undefined || this.#isStopped) return
    const budget = { session: view.spent, turnLimit: {}, personaLimit: this.#personaLimit }
    const limits = limitsOfTurn({ budget, sessionLimit, project: ofProject })
    const usedUp = limits.usedUp()
    if (usedUp === undefined) return
    this.#isStopped = true
    const used = limits.check(id, NO_SPENDING).filter(({ exceeded }) => exceeded)
    const message = `The agent went on working after its turn, and was stopped. ${usedUpText(usedUp)}`
    await recorder.record([...used, notice(id, message)], null)
    await Promise.all(project.harnesses.getAll().map(harness => harness.kill(id)))
  }

  async #count(id: string, spent: Spending): Promise<void> {
    const { project, view } = this.#options
    await project.budget.countBetweenTurns(id, spent)
    await project.store.save(view.session)
    await project.store.noteSpent(view.session)
  }

  /** A file of prices that cannot be read must not lose the events. */
  #priced(events: readonly UIEvent[]): readonly UIEvent[] {
    const { project, view } = this.#options
    try {
      return pricedEvents(events, view.session.model, project.prices())
    } catch (error) {
      this.#fault(error)
      return events
    }
  }

  #fault(error: unknown): void {
    const { project, view } = this.#options
    project.harnessLog.write(view.session.id, faultRow(error))
  }
}

function sum(a: Spending, b: Spending): Spending {
  return {
    usd: a.usd === null && b.usd === null ? null : (a.usd ?? 0) + (b.usd ?? 0),
    tokens: a.tokens + b.tokens,
    unpricedTokens: a.unpricedTokens + b.unpricedTokens,
    ms: a.ms + b.ms,
  }
}
