import { startError } from '../session-errors.ts'
import type { BudgetBook, BudgetReading, Spending } from './budget-book.ts'
import { type BudgetLimit, limits, NOTHING } from './budget-limits.ts'
import { type BudgetState, MINUTE_MS } from './budget-state.ts'

/** What a project may spend, and has: its page of the budget book, and the turns that are at work. */
export class ProjectBudget {
  readonly #projectRoot: string
  readonly #book: BudgetBook
  readonly #running = new Map<string, Spending>()
  /** Turns that have ended and are not in the file yet, because it could not be written. */
  readonly #owed = new Map<string, Spending>()
  /** What was spent between turns and is not in the file yet. */
  readonly #betweenTurns = new Map<string, Spending>()
  #counted: Spending = NOTHING
  #problem: string | undefined

  constructor(projectRoot: string, book: BudgetBook) {
    this.#projectRoot = projectRoot
    this.#book = book
  }

  /**
   * Counts a turn among those at work, and says what limits it. Throws when the project has had all its turns, or nobody knows
   * its limits.
   */
  async begin(turnId: string): Promise<BudgetLimit[]> {
    // Before its record takes the place of theirs: that is all that a later host could count them by.
    await this.#countOwed()
    const reading = await this.#read()
    const { iterations, max_iterations, counted_turns = [] } = reading.state
    const running = [...this.#running.keys()].filter(id => id !== turnId && !counted_turns.includes(id))
    const begun = iterations + running.length
    // Nothing may be waited for from here on: another session could take the last turn meanwhile.
    if (max_iterations !== null && begun >= max_iterations) {
      const message = `The project has had ${begun} of ${max_iterations} turns. Raise max_iterations in the dashboard, or with "chirality budget set".`
      throw startError('budget', message)
    }
    this.note(turnId, NOTHING)
    return this.#limits(turnId, reading)
  }

  /** The same for a turn that an earlier host began. */
  async limitsFor(turnId: string): Promise<BudgetLimit[]> {
    return this.#limits(turnId, await this.#read())
  }

  #limits(turnId: string, { state, problem }: BudgetReading): BudgetLimit[] {
    this.#problem = problem
    this.#remember(state)
    const limit = () => {
      const { max_cost_usd, max_tokens, max_minutes } = this.#book.lastKnown(this.#projectRoot) ?? state
      const ms = max_minutes === null ? undefined : max_minutes * MINUTE_MS
      return { usd: max_cost_usd ?? undefined, tokens: max_tokens ?? undefined, ms }
    }
    return limits('project', limit, () => this.#spentBeside(turnId))
  }

  /** What was wrong with the files when the limits were read last. To be told. */
  get problem(): string | undefined {
    return this.#problem
  }

  note(turnId: string, spent: Spending): void {
    this.#running.set(turnId, spent)
  }

  /** The turn did not begin. */
  forget(turnId: string): void {
    this.#running.delete(turnId)
  }

  /** It has ended, and could not be counted: it still counts here, and is counted before the next turn begins. */
  owe(turnId: string, spent: Spending): void {
    this.note(turnId, spent)
    this.#owed.set(turnId, spent)
  }

  async count(turnId: string, spent: Spending): Promise<void> {
    this.#remember(await this.#book.count(this.#projectRoot, turnId, spent))
    this.#running.delete(turnId)
    this.#owed.delete(turnId)
  }

  /** Counts at once here. When it rejects it is counted in the file before the next turn begins. */
  async countBetweenTurns(id: string, spent: Spending): Promise<void> {
    this.#betweenTurns.set(id, spent)
    this.#remember(await this.#book.count(this.#projectRoot, id, spent, { iterations: 0 }))
    this.#betweenTurns.delete(id)
  }

  async #read(): Promise<BudgetReading> {
    return this.#book.read(this.#projectRoot)
  }

  #remember({ total_cost_usd, total_tokens, unpriced_tokens, total_minutes }: BudgetState): void {
    const ms = total_minutes * MINUTE_MS
    this.#counted = { usd: total_cost_usd, tokens: total_tokens, unpricedTokens: unpriced_tokens, ms }
  }

  async #countOwed(): Promise<void> {
    for (const [turnId, spent] of [...this.#owed]) await this.count(turnId, spent)
    for (const [id, spent] of [...this.#betweenTurns]) await this.countBetweenTurns(id, spent)
  }

  #spentBeside(turnId: string): Spending {
    let { usd, tokens, unpricedTokens, ms } = this.#counted
    for (const [id, spent] of [...this.#running, ...this.#betweenTurns]) {
      if (id === turnId) continue
      usd = (usd ?? 0) + (spent.usd ?? 0)
      tokens += spent.tokens
      unpricedTokens += spent.unpricedTokens
      ms += spent.ms
    }
    return { usd, tokens, unpricedTokens, ms }
  }
}
