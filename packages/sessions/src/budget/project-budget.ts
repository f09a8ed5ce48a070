import { SessionStartError } from '../host/session-errors.ts'
import { type BudgetState, budgetFile } from '../store/project-state.ts'
import type { BudgetLimit } from './budget-limits.ts'
import { roundUsd } from './cost-meter.ts'

/** What a project may spend, and has: `state/budget.json`, and the turns that are at work. */
export class ProjectBudget {
  readonly #projectRoot: string
  readonly #running = new Map<string, number>()
  /** Turns that have ended and are not in the file yet, because it could not be written. */
  readonly #owed = new Map<string, number>()
  #totalUsd = 0

  constructor(projectRoot: string) {
    this.#projectRoot = projectRoot
  }

  /** Counts a turn among those at work. Throws when the project has had all its turns. */
  async begin(turnId: string): Promise<void> {
    // Before its record takes the place of theirs: that is all that a later host could count them by.
    await this.#countOwed()
    const { iterations, max_iterations, counted_turns = [] } = await budgetFile.read(this.#projectRoot)
    const running = [...this.#running.keys()].filter(id => id !== turnId && !counted_turns.includes(id))
    const begun = iterations + running.length
    // Nothing may be waited for from here on: another session could take the last turn meanwhile.
    if (max_iterations === null || begun < max_iterations) return this.note(turnId, 0)
    const message = `The project has had ${begun} of ${max_iterations} turns. Raise max_iterations in .chirality/state/budget.json.`
    throw new SessionStartError('budget', message)
  }

  async limitFor(turnId: string): Promise<BudgetLimit[]> {
    const { total_cost_usd, max_cost_usd } = await budgetFile.read(this.#projectRoot)
    this.#totalUsd = total_cost_usd
    if (max_cost_usd === null) return []
    return [{ scope: 'project', limitUsd: max_cost_usd, beforeUsd: () => this.#spentBeside(turnId) }]
  }

  note(turnId: string, spentUsd: number): void {
    this.#running.set(turnId, spentUsd)
  }

  /** The turn did not begin. */
  forget(turnId: string): void {
    this.#running.delete(turnId)
  }

  /** It has ended, and could not be counted: it still counts here, and is counted before the next turn begins. */
  owe(turnId: string, spentUsd: number): void {
    this.note(turnId, spentUsd)
    this.#owed.set(turnId, spentUsd)
  }

  /** Counts a turn that has ended, also when it is told twice: after a crash nobody knows whether it was. */
  async count(turnId: string, spentUsd: number): Promise<void> {
    const { total_cost_usd } = await budgetFile.update(this.#projectRoot, state =>
      counted(state, turnId, spentUsd),
    )
    this.#totalUsd = total_cost_usd
    this.#running.delete(turnId)
    this.#owed.delete(turnId)
  }

  async #countOwed(): Promise<void> {
    for (const [turnId, spentUsd] of [...this.#owed]) await this.count(turnId, spentUsd)
  }

  #spentBeside(turnId: string): number {
    let sum = this.#totalUsd
    for (const [id, spentUsd] of this.#running) if (id !== turnId) sum += spentUsd
    return sum
  }
}

function counted(state: BudgetState, turnId: string, spentUsd: number): BudgetState {
  const turns = state.counted_turns ?? []
  if (turns.includes(turnId)) return state
  return {
    ...state,
    total_cost_usd: roundUsd(state.total_cost_usd + spentUsd),
    iterations: state.iterations + 1,
    counted_turns: [...turns, turnId].slice(-MAX_COUNTED),
  }
}

/** More than can be in doubt after a crash: one for each session that was at work. */
const MAX_COUNTED = 200
