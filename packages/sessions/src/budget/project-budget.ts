import { SessionStartError } from '../host/session-errors.ts'
import { type BudgetState, budgetFile } from '../store/project-state.ts'
import type { BudgetLimit } from './budget-limits.ts'
import { roundUsd } from './cost-meter.ts'

/** What a project may spend, and has: `state/budget.json`, and the turns that are at work. */
export class ProjectBudget {
  readonly #projectRoot: string
  readonly #running = new Map<string, number>()
  #totalUsd = 0

  constructor(projectRoot: string) {
    this.#projectRoot = projectRoot
  }

  /** Throws when the project has had all its turns. */
  async requireIteration(): Promise<void> {
    const { iterations, max_iterations } = await budgetFile.read(this.#projectRoot)
    const begun = iterations + this.#running.size
    if (max_iterations === null || begun < max_iterations) return
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

  /** Counts a turn that has ended, also when it is told twice: after a crash nobody knows whether it was. */
  async count(turnId: string, spentUsd: number): Promise<void> {
    const { total_cost_usd } = await budgetFile.update(this.#projectRoot, state =>
      counted(state, turnId, spentUsd),
    )
    this.#totalUsd = total_cost_usd
    this.#running.delete(turnId)
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
