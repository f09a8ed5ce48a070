import {
  ASSUMED_USD_PER_MILLION,
  costOf,
  type PriceTable,
  priceOf,
  roundUsd,
  tokensText,
  type UIEvent,
  usdText,
} from '@chirality/core'
import type { Spending } from '../budget/budget-book.ts'
import { type BudgetLimits, spentSince } from '../budget/budget-limits.ts'
import type { ProjectBudget } from '../budget/project-budget.ts'
import { notice } from '../log/turn-events.ts'

export interface TurnWatchOptions {
  sessionId: string
  turnId: string
  limits: BudgetLimits
  projectBudget: ProjectBudget
  prices: PriceTable
  /** What the session had spent when the turn began. */
  before: () => Spending
  /** What it has spent by now, with the last event that was recorded. */
  now: () => Spending
  /** The model of the session, if it is known. */
  model: () => string | null
}

/** Follows a turn's events: its cost, and whether a budget stops it. */
export class TurnWatch {
  readonly #options: TurnWatchOptions
  readonly #safePoint = new SafePoint()
  #toldUnpriced = false
  /** An answer was paid for after the budget was used up, while a tool was still running. */
  #spendsOn = false

  constructor(options: TurnWatchOptions) {
    this.#options = options
    options.projectBudget.note(options.turnId, this.spent)
  }

  get spent(): Spending {
    const { before, now } = this.#options
    return spentSince(before(), now())
  }

  /**
   * Whether to stop: a budget is used up and no tool would be cut short, or more was spent while a tool that may never
   * end runs. A used-up time limit stops the turn at once, because it is for agents that hang.
   */
  get mustStop(): boolean {
    const { limits } = this.#options
    if (!limits.hasExceeded) return false
    const { spent } = this
    if (limits.isExceeded(spent, 'ms')) return true
    return (this.#safePoint.isSafe || this.#spendsOn) && limits.isExceeded(spent)
  }

  /** How much longer the turn may run; undefined without a time limit. */
  get leftMs(): number | undefined {
    const { limits } = this.#options
    return limits.hasTime ? limits.leftMs(this.spent) : undefined
  }

  /** Adds the list price to events whose agent states none, so that a recorded cost never changes. */
  priced(events: readonly UIEvent[]): UIEvent[] {
    return pricedEvents(events, this.#options.model(), this.#options.prices)
  }

  /** The notice before a turn with this model if its budgets in dollars cannot be counted. */
  warning(model: string | null | undefined): UIEvent[] {
    const { sessionId, limits, prices } = this.#options
    const { leftUsd } = limits
    if (!model || leftUsd === undefined || this.#toldUnpriced || priceOf(model, prices)) return []
    this.#toldUnpriced = true
    const tokens = tokensText((leftUsd / ASSUMED_USD_PER_MILLION) * 1e6)
    const message = `No price is known for ${model}: each million of its tokens counts as ${usdText(ASSUMED_USD_PER_MILLION)} towards budgets, so the ${usdText(leftUsd)} that is left stops it after ${tokens}. Give its price in prices.json in the data folder to count better.`
    return [notice(sessionId, message, { model })]
  }

  /** Handles a recorded event of the turn; returns the notices that follow it. */
  note(event: UIEvent): UIEvent[] {
    this.#safePoint.note(event)
    if (!COSTS.has(event.type)) return []
    const { limits } = this.#options
    if (event.type === 'session:init') return this.warning(event.model)
    const wasExceeded = limits.hasExceeded
    const news = this.check()
    if (event.type === 'usage' && wasExceeded) this.#spendsOn = true
    return news
  }

  /** The notices of the budgets. */
  check(): UIEvent[] {
    const { sessionId, turnId, limits, projectBudget } = this.#options
    const { spent } = this
    projectBudget.note(turnId, spent)
    return limits.check(sessionId, spent)
  }

  /** The notices before the turn ends. */
  last(): UIEvent[] {
    return this.#options.limits.last(this.#options.sessionId, this.spent)
  }
}

/** With the list price, where the agent states none. `sessionModel` is that of the session before them. */
export function pricedEvents(
  events: readonly UIEvent[],
  sessionModel: string | null,
  prices: PriceTable,
): UIEvent[] {
  let model = sessionModel
  return events.map(event => {
    if (event.type === 'session:init') model = event.model
    return pricedEvent(event, model, prices)
  })
}

function pricedEvent(event: UIEvent, sessionModel: string | null, prices: PriceTable): UIEvent {
  const isUsage = event.type === 'usage'
  const isResult = event.type === 'session:complete' || event.type === 'session:error'
  if ((!isUsage && !isResult) || event.usage === undefined || event.estimateUsd !== undefined) return event
  if (isResult && event.costUsd) return event
  const model = (isUsage && event.model) || sessionModel || ''
  const estimateUsd = costOf(event.usage, model, prices)
  return estimateUsd === undefined ? event : { ...event, estimateUsd: roundUsd(estimateUsd) }
}

const COSTS: ReadonlySet<UIEvent['type']> = new Set<UIEvent['type']>([
  'session:init',
  'usage',
  'session:complete',
  'session:error',
])

/** Knows when an agent can be stopped without cutting a tool short. */
class SafePoint {
  readonly #atWork = new Set<string>()
  /** Calls that run a sub-agent: only the sub-agent's own tools count. */
  readonly #subAgents = new Set<string>()

  note(event: UIEvent): void {
    if ('parentToolUseId' in event && event.parentToolUseId !== undefined) {
      this.#subAgents.add(event.parentToolUseId)
    }
    if (event.type === 'tool:start') this.#atWork.add(event.toolUseId)
    if (event.type === 'tool:result') this.#atWork.delete(event.toolUseId)
  }

  get isSafe(): boolean {
    return [...this.#atWork].every(id => this.#subAgents.has(id))
  }
}
