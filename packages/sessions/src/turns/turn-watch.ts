import type { PriceTable, UIEvent } from '@chirality/core'
import type { BudgetLimits } from '../budget/budget-limits.ts'
import { CostMeter } from '../budget/cost-meter.ts'
import type { ProjectBudget } from '../budget/project-budget.ts'
import { SafePoint } from '../budget/safe-point.ts'
import { notice } from './turn-events.ts'

export interface TurnWatchOptions {
  sessionId: string
  turnId: string
  limits: BudgetLimits
  projectBudget: ProjectBudget
  prices: PriceTable
}

/** Follows a turn's events: what it has cost, and whether it has to be stopped for it. */
export class TurnWatch {
  readonly #options: TurnWatchOptions
  readonly #meter: CostMeter
  readonly #safePoint = new SafePoint()
  #toldUnpriced = false
  /** Answers that were paid for after the budget was used up, while a tool was waited for. */
  #usesBeyond = 0

  constructor(options: TurnWatchOptions) {
    this.#options = options
    this.#meter = new CostMeter(options.prices)
    options.projectBudget.note(options.turnId, 0)
  }

  get spentUsd(): number {
    return this.#meter.totalUsd
  }

  /** A budget is used up, and no tool would be cut short; or more is spent while one that may have no end goes on. */
  get mustStop(): boolean {
    const { limits } = this.#options
    return limits.isExceeded && (this.#safePoint.isSafe || this.#spendsOn)
  }

  get #spendsOn(): boolean {
    if (this.#usesBeyond === 0) return false
    return this.#usesBeyond >= MAX_USES_BEYOND || this.#options.limits.isFarExceeded(this.spentUsd)
  }

  /** Takes an event of the turn; gives what is to be said after it. */
  note(event: UIEvent): UIEvent[] {
    this.#safePoint.note(event)
    if (!COSTS.has(event.type)) return []
    const { sessionId, turnId, limits, projectBudget } = this.#options
    if (event.type === 'usage' && limits.isExceeded) this.#usesBeyond += 1
    this.#meter.add(event)
    projectBudget.note(turnId, this.spentUsd)
    return [...this.#unpriced(), ...limits.check(sessionId, this.spentUsd)]
  }

  #unpriced(): UIEvent[] {
    const { sessionId, limits } = this.#options
    const model = this.#meter.unpriced
    if (model === undefined || limits.isEmpty || this.#toldUnpriced) return []
    this.#toldUnpriced = true
    const message = `No price is known for ${model || 'this model'}: it counts towards budgets when the agent states its cost.`
    return [notice(sessionId, message, { model })]
  }
}

const MAX_USES_BEYOND = 3

const COSTS: ReadonlySet<UIEvent['type']> = new Set<UIEvent['type']>([
  'session:init',
  'usage',
  'session:complete',
  'session:error',
])
