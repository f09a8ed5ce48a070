import { startError } from '../session-errors.ts'
import type { BudgetBook, BudgetReading, Spending } from './budget-book.ts'
import { type BudgetLimit, limits, NO_SPENDING } from './budget-limits.ts'
import { type BudgetState, MINUTE_MS } from './budget-state.ts'
import {
  elsewhereText,
  type FindElsewhere,
  nothingElsewhere,
  type ProjectSpending,
  type SpentElsewhere,
  sumElsewhere,
} from './spent-elsewhere.ts'

/** The budget of a project: its entry in the budget book and its running turns. */
export class ProjectBudget {
  readonly #projectRoot: string
  readonly #book: BudgetBook
  /** What other machines spent on the same project counts, too. */
  readonly #elsewhere: FindElsewhere
  readonly #running = new Map<string, Spending>()
  /** Finished turns that could not be written to the file yet. */
  readonly #owed = new Map<string, Spending>()
  /** Spending between turns that is not in the file yet. */
  readonly #betweenTurns = new Map<string, Spending>()
  #counted: Spending = NO_SPENDING
  /** The turns in `#counted`. One may still be in `#running`: the file is written before the turn is removed there. */
  #countedTurns: ReadonlySet<string> = new Set()
  #problem: string | undefined

  constructor(projectRoot: string, book: BudgetBook, elsewhere: FindElsewhere = nothingElsewhere) {
    this.#projectRoot = projectRoot
    this.#book = book
    this.#elsewhere = elsewhere
  }

  /**
   * Adds a running turn and returns its limits. Throws when the project's turns are used up, or its limits cannot be
   * read.
   */
  async begin(turnId: string): Promise<BudgetLimit[]> {
    // Unwritten turns are counted before this turn's record replaces theirs, from which a later host would count
    // them.
    await this.#countOwed()
    const elsewhere = await this.#elsewhere(this.#projectRoot)
    const reading = await this.#read()
    this.#remember(reading.state)
    const { iterations, max_iterations } = reading.state
    const running = this.#uncounted().filter(id => id !== turnId)
    const begun = iterations + running.length + sumElsewhere(elsewhere()).turns
    // No `await` after this point: another session could take the last turn in between.
    if (max_iterations !== null && begun >= max_iterations) {
      const note = elsewhereText(elsewhere(), 'turns')
      const message = `The project has had ${begun} of ${max_iterations} turns. ${note === undefined ? '' : `${note} `}Raise max_iterations in the dashboard, or with "chirality budget set".`
      throw startError('budget', message)
    }
    this.note(turnId, NO_SPENDING)
    return this.#limits(turnId, reading, elsewhere)
  }

  /** The limits of a turn that an earlier host started. */
  async limitsFor(turnId: string): Promise<BudgetLimit[]> {
    const elsewhere = await this.#elsewhere(this.#projectRoot)
    return this.#limits(turnId, await this.#read(), elsewhere)
  }

  #limits(
    turnId: string,
    { state, problem }: BudgetReading,
    elsewhere: () => SpentElsewhere[],
  ): BudgetLimit[] {
    this.#problem = problem
    this.#remember(state)
    const limit = () => {
      const { max_cost_usd, max_tokens, max_minutes } = this.#book.lastKnown(this.#projectRoot) ?? state
      const ms = max_minutes === null ? undefined : max_minutes * MINUTE_MS
      return { usd: max_cost_usd ?? undefined, tokens: max_tokens ?? undefined, ms }
    }
    const before = () => added(this.#spentHere(turnId), sumElsewhere(elsewhere()))
    return limits('project', limit, before).map(each => ({
      ...each,
      note: () => elsewhereText(elsewhere(), each.unit),
    }))
  }

  /** What was spent on this machine, with the turns that run. */
  async spent(): Promise<ProjectSpending> {
    const { state } = await this.#read()
    this.#remember(state)
    return { ...this.#spentHere(undefined), turns: state.iterations + this.#uncounted().length }
  }

  /** The problem with the files at the last read, for the user. */
  get problem(): string | undefined {
    return this.#problem
  }

  note(turnId: string, spent: Spending): void {
    this.#running.set(turnId, spent)
  }

  /** Removes a turn that did not start. */
  forget(turnId: string): void {
    this.#running.delete(turnId)
  }

  /** Keeps a finished turn that could not be counted; it is counted before the next turn starts. */
  owe(turnId: string, spent: Spending): void {
    this.note(turnId, spent)
    this.#owed.set(turnId, spent)
  }

  async count(turnId: string, spent: Spending): Promise<void> {
    this.#remember(await this.#book.count(this.#projectRoot, turnId, spent))
    this.#running.delete(turnId)
    this.#owed.delete(turnId)
  }

  /** Counts in memory immediately. When writing fails, it is written before the next turn starts. */
  async countBetweenTurns(id: string, spent: Spending): Promise<void> {
    this.#betweenTurns.set(id, spent)
    this.#remember(await this.#book.count(this.#projectRoot, id, spent, { iterations: 0 }))
    this.#betweenTurns.delete(id)
  }

  async #read(): Promise<BudgetReading> {
    return this.#book.read(this.#projectRoot)
  }

  #remember(state: BudgetState): void {
    const { total_cost_usd, total_tokens, unpriced_tokens, total_minutes, counted_turns } = state
    const ms = total_minutes * MINUTE_MS
    this.#counted = { usd: total_cost_usd, tokens: total_tokens, unpricedTokens: unpriced_tokens, ms }
    this.#countedTurns = new Set(counted_turns)
  }

  #uncounted(): string[] {
    return [...this.#running.keys()].filter(id => !this.#countedTurns.has(id))
  }

  async #countOwed(): Promise<void> {
    for (const [turnId, spent] of [...this.#owed]) await this.count(turnId, spent)
    for (const [id, spent] of [...this.#betweenTurns]) await this.countBetweenTurns(id, spent)
  }

  #spentHere(withoutTurn: string | undefined): Spending {
    let sum = this.#counted
    for (const [id, spent] of [...this.#running, ...this.#betweenTurns])
      if (id !== withoutTurn && !this.#countedTurns.has(id)) sum = added(sum, spent)
    return sum
  }
}

function added(a: Spending, b: Spending): Spending {
  return {
    usd: (a.usd ?? 0) + (b.usd ?? 0),
    tokens: a.tokens + b.tokens,
    ms: a.ms + b.ms,
    unpricedTokens: a.unpricedTokens + b.unpricedTokens,
  }
}
