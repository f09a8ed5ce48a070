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
import type { BudgetLimits } from '../budget/budget-limits.ts'
import type { ProjectBudget } from '../budget/project-budget.ts'
import { notice } from '../log/turn-events.ts'

export interface TurnWatchOptions {
  sessionId: string
  turnId: string
  limits: BudgetLimits
  projectBudget: ProjectBudget
  prices: PriceTable
  /** What the session had spent when the turn began. */
  before: Spending
  /** What it has spent by now, with the last event that was recorded. */
  now: () => Spending
  /** The model of the session, as far as it is known. */
  model: () => string | null
}

/** Follows a turn's events: what it has cost, and whether it has to be stopped for it. */
export class TurnWatch {
  readonly #options: TurnWatchOptions
  readonly #safePoint = new SafePoint()
  #toldUnpriced = false
  /** An answer was paid for after the budget was used up, while a tool was waited for. */
  #spendsOn = false

  constructor(options: TurnWatchOptions) {
    this.#options = options
    options.projectBudget.note(options.turnId, this.spent)
  }

  get spent(): Spending {
    const { before, now } = this.#options
    const { usd, tokens, unpricedTokens, ms } = now()
    return {
      usd: usd === null && before.usd === null ? null : roundUsd((usd ?? 0) - (before.usd ?? 0)),
      tokens: tokens - before.tokens,
      unpricedTokens: Math.max(0, unpricedTokens - before.unpricedTokens),
      ms: Math.max(0, ms - before.ms),
    }
  }

  /**
   * A budget is used up, and no tool would be cut short; or more was spent while one that may have no end goes on. Time
   * that is up stops the turn at once: it is there for what hangs.
   */
  get mustStop(): boolean {
    const { limits } = this.#options
    if (!limits.hasExceeded) return false
    const { spent } = this
    if (limits.isExceeded(spent, 'ms')) return true
    return (this.#safePoint.isSafe || this.#spendsOn) && limits.isExceeded(spent)
  }

  /** How long the turn may go on; undefined when time has no limit. */
  get leftMs(): number | undefined {
    const { limits } = this.#options
    return limits.hasTime ? limits.leftMs(this.spent) : undefined
  }

  /** Events as they are recorded: with their list price, where the agent states none. What it cost is the same for ever then. */
  priced(events: readonly UIEvent[]): UIEvent[] {
    let model = this.#options.model()
    return events.map(event => {
      if (event.type === 'session:init') model = event.model
      return this.#priced(event, model)
    })
  }

  #priced(event: UIEvent, sessionModel: string | null): UIEvent {
    const isUsage = event.type === 'usage'
    const isResult = event.type === 'session:complete' || event.type === 'session:error'
    if ((!isUsage && !isResult) || event.usage === undefined || event.estimateUsd !== undefined) return event
    if (isResult && event.costUsd) return event
    const model = (isUsage && event.model) || sessionModel || ''
    const estimateUsd = costOf(event.usage, model, this.#options.prices)
    return estimateUsd === undefined ? event : { ...event, estimateUsd: roundUsd(estimateUsd) }
  }

  /** What is to be said before a turn with this model: whether its budgets in dollars can be counted. */
  warning(model: string | null | undefined): UIEvent[] {
    const { sessionId, limits, prices } = this.#options
    const { leftUsd } = limits
    if (!model || leftUsd === undefined || this.#toldUnpriced || priceOf(model, prices)) return []
    this.#toldUnpriced = true
    const tokens = tokensText((leftUsd / ASSUMED_USD_PER_MILLION) * 1e6)
    const message = `No price is known for ${model}: each million of its tokens counts as ${usdText(ASSUMED_USD_PER_MILLION)} towards budgets, so the ${usdText(leftUsd)} that is left stops it after ${tokens}. Give its price in prices.json in the data folder to count better.`
    return [notice(sessionId, message, { model })]
  }

  /** Takes an event of the turn that is recorded; gives what is to be said after it. */
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

  /** What the budgets have to say now. */
  check(): UIEvent[] {
    const { sessionId, turnId, limits, projectBudget } = this.#options
    const { spent } = this
    projectBudget.note(turnId, spent)
    return limits.check(sessionId, spent)
  }

  /** What is to be said before the turn ends. */
  last(): UIEvent[] {
    return this.#options.limits.last(this.#options.sessionId, this.spent)
  }
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
  /** Calls that run a sub-agent: what counts there is what the sub-agent does. */
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
