import { addCost, costSoFar, HarnessError, hasCode, NO_COST, type PriceTable } from '@chirality/core'
import type { RunAccount, RunEntry, RunStart } from '@chirality/runner'
import { BudgetBook } from '../budget/budget-book.ts'
import { BudgetLimits, NO_SPENDING } from '../budget/budget-limits.ts'
import { requireBudget, usedUpText } from '../budget/limits-of-turn.ts'
import { ProjectBudget } from '../budget/project-budget.ts'
import { readPrices } from '../budget/user-prices.ts'
import { realProjectRoot } from '../files/project-folder.ts'
import { noteClaudeSession } from '../store/project-state.ts'
import { TurnWatch } from './turn-watch.ts'

export interface RunBudgetsOptions {
  /** The user's data folder. Default: `CHIRALITY_HOME`, or the platform's usual folder. */
  home?: string
  /** Default: the list prices, and those of `prices.json` in the user's data folder. */
  prices?: PriceTable
  /** Called if a run could not be counted. It is counted with the next run of this process. */
  onProblem?: (message: string) => void
}

/**
 * Counts the cost of `ClaudeCodeHarness.run` in `state/budget.json` of the agent's working folder, stores its
 * conversation in `state/claude-session.json`, and stops it when the project's budget is used up: before it begins, or
 * after the running tool. `new ClaudeCodeHarness({ account: new RunBudgets() })`.
 */
export class RunBudgets implements RunAccount {
  readonly #options: RunBudgetsOptions
  readonly #book: BudgetBook
  readonly #projects = new Map<string, ProjectBudget>()

  constructor(options: RunBudgetsOptions = {}) {
    this.#options = options
    this.#book = new BudgetBook({ home: options.home })
  }

  async begin(run: RunStart): Promise<RunEntry> {
    const { runId, harnessId } = run
    const root = realProjectRoot(run.cwd)
    const budget = this.#budgetOf(root)
    try {
      await budget.begin(runId)
      const limits = new BudgetLimits(await budget.limitsFor(runId))
      requireBudget(limits)
      return this.#entry(run, { root, budget, limits })
    } catch (error) {
      budget.forget(runId)
      if (!hasCode(error, 'budget')) throw error
      throw new HarnessError(error.message, 'budget_exceeded', harnessId)
    }
  }

  #entry(run: RunStart, project: { root: string; budget: ProjectBudget; limits: BudgetLimits }): RunEntry {
    const { runId, role } = run
    const { root, budget, limits } = project
    let ledger = NO_COST
    const startedAt = performance.now()
    const watch = new TurnWatch({
      sessionId: runId,
      turnId: runId,
      limits,
      projectBudget: budget,
      before: () => NO_SPENDING,
      prices: this.#options.prices ?? readPrices(this.#options.home),
      now: () => ({ ...costSoFar(ledger), ms: performance.now() - startedAt }),
      model: () => ledger.model || run.model || null,
    })
    return {
      note: said => {
        const [event = said] = watch.priced([said])
        ledger = addCost(ledger, event)
        watch.note(event)
        const usedUp = watch.mustStop ? limits.usedUp(watch.spent) : undefined
        return usedUp && usedUpText(usedUp)
      },
      end: async nativeSessionId => {
        try {
          await budget.count(runId, watch.spent)
          if (nativeSessionId !== null) await noteClaudeSession(root, role.toLowerCase(), nativeSessionId)
        } catch (error) {
          budget.owe(runId, watch.spent)
          this.#options.onProblem?.(error instanceof Error ? error.message : String(error))
        }
      },
    }
  }

  #budgetOf(root: string): ProjectBudget {
    const known = this.#projects.get(root)
    if (known !== undefined) return known
    const budget = new ProjectBudget(root, this.#book)
    this.#projects.set(root, budget)
    return budget
  }
}
