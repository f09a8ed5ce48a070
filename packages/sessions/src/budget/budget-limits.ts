import {
  ASSUMED_USD_PER_MILLION,
  type BudgetEvent,
  type BudgetScope,
  formatDuration,
  roundUsd,
  tokensText,
  usdText,
} from '@chirality/core'
import type { Spending } from './budget-book.ts'

/** The unit of a budget. Time is the duration of turns, without waiting for the user. */
export type BudgetUnit = 'usd' | 'tokens' | 'ms'

/** One budget that a turn counts towards. */
export interface BudgetLimit {
  scope: BudgetScope
  unit: BudgetUnit
  /** Read at each use, because it can be raised during the turn. Undefined is no limit. */
  limit: () => number | undefined
  /** Spending outside this turn. */
  before: () => Spending
  /** What else the user has to know of it when it is used up. */
  note?: () => string | undefined
}

/** Reports on a turn's budgets: once at 80 %, once when a budget is used up. */
export class BudgetLimits {
  readonly #limits: readonly BudgetLimit[]
  /** The limit that the warning was for; a raised limit gets a new warning. */
  readonly #warned = new Map<BudgetLimit, number>()
  /** The spending when the budget was reported as used up. */
  readonly #exceeded = new Map<BudgetLimit, number>()

  constructor(limits: readonly BudgetLimit[]) {
    this.#limits = limits
  }

  /** Whether a budget was reported as used up. */
  get hasExceeded(): boolean {
    return this.#exceeded.size > 0
  }

  /** Whether a reported budget is still used up. */
  isExceeded(turn: Spending, unit?: BudgetUnit): boolean {
    const told = [...this.#exceeded.keys()].filter(limit => unit === undefined || limit.unit === unit)
    return told.some(limit => spentOf(limit, turn) >= limitOf(limit))
  }

  get hasTime(): boolean {
    return this.#limits.some(({ unit, limit }) => unit === 'ms' && limit() !== undefined)
  }

  /** The lowest remaining time; undefined when time has no limit. */
  leftMs(turn: Spending): number | undefined {
    return this.#left('ms', turn)
  }

  /** The lowest remaining budget in dollars; undefined when there is none. */
  get leftUsd(): number | undefined {
    return this.#left('usd', NO_SPENDING)
  }

  #left(unit: BudgetUnit, turn: Spending): number | undefined {
    const left = this.#limits.flatMap(limit =>
      limit.unit === unit ? [Math.max(0, limitOf(limit) - spentOf(limit, turn))] : [],
    )
    const least = Math.min(...left)
    return Number.isFinite(least) ? least : undefined
  }

  /** The events for a turn that has spent this much. */
  check(sessionId: string, turn: Spending): BudgetEvent[] {
    return this.#limits.flatMap(limit => {
      const spent = spentOf(limit, turn)
      const most = limitOf(limit)
      const exceeded = spent >= most
      if (spent < most * WARN_SHARE) return []
      if (exceeded ? this.#exceeded.has(limit) : this.#warned.get(limit) === most) return []
      if (exceeded) this.#exceeded.set(limit, spent)
      else this.#warned.set(limit, most)
      return [budgetEvent(sessionId, limit, spent)]
    })
  }

  /** At the end of a turn: the spending beyond a budget that was reported as used up. */
  last(sessionId: string, turn: Spending): BudgetEvent[] {
    return [...this.#exceeded].flatMap(([limit, told]) => {
      // The time until the agent has stopped is not reported.
      if (limit.unit === 'ms') return []
      const spent = spentOf(limit, turn)
      return spent > told && spent >= limitOf(limit) ? [budgetEvent(sessionId, limit, spent)] : []
    })
  }

  /** The first budget that is used up, before the turn starts or at this spending. */
  usedUp(turn: Spending = NO_SPENDING): UsedUp | undefined {
    const limit = this.#limits.find(each => spentOf(each, turn) >= limitOf(each))
    if (limit === undefined) return undefined
    const { scope, unit, note } = limit
    return { scope, unit, spent: spentOf(limit, turn), most: limitOf(limit), note: note?.() }
  }
}

export interface UsedUp {
  scope: BudgetScope
  unit: BudgetLimit['unit']
  spent: number
  most: number
  note: string | undefined
}

const WARN_SHARE = 0.8

function limitOf({ limit }: BudgetLimit): number {
  return limit() ?? Number.POSITIVE_INFINITY
}

function spentOf(limit: BudgetLimit, turn: Spending): number {
  return roundUsd(amountOf(limit, limit.before()) + amountOf(limit, turn))
}

/** Tokens without a price count towards dollars, because they are not free. */
export function amountOf(
  { unit }: Pick<BudgetLimit, 'unit'>,
  { usd, tokens, unpricedTokens, ms }: Spending,
): number {
  if (unit === 'tokens') return tokens
  if (unit === 'ms') return ms
  return roundUsd((usd ?? 0) + (unpricedTokens * ASSUMED_USD_PER_MILLION) / 1e6)
}

export const AMOUNT_TEXTS: Record<BudgetUnit, (amount: number) => string> = {
  usd: usdText,
  tokens: tokensText,
  ms: formatDuration,
}

function budgetEvent(sessionId: string, limit: BudgetLimit, spent: number): BudgetEvent {
  const { scope, unit } = limit
  const most = limitOf(limit)
  const amounts = {
    usd: { spentUsd: spent, limitUsd: most },
    tokens: { spentTokens: spent, limitTokens: most },
    ms: { spentMs: Math.round(spent), limitMs: most },
  }
  return { type: 'budget', sessionId, scope, exceeded: spent >= most, ...amounts[unit] }
}

/** The spending between two points of a session. */
export function spentSince(before: Spending, now: Spending): Spending {
  const { usd, tokens, unpricedTokens, ms } = now
  return {
    usd: usd === null && before.usd === null ? null : roundUsd((usd ?? 0) - (before.usd ?? 0)),
    tokens: tokens - before.tokens,
    unpricedTokens: Math.max(0, unpricedTokens - before.unpricedTokens),
    ms: Math.max(0, ms - before.ms),
  }
}

export interface SpendingLimit {
  usd?: number
  tokens?: number
  ms?: number
}

export function limits(
  scope: BudgetLimit['scope'],
  limit: () => SpendingLimit,
  before: () => Spending,
): BudgetLimit[] {
  return [
    { scope, unit: 'usd', limit: () => limit().usd, before },
    { scope, unit: 'tokens', limit: () => limit().tokens, before },
    { scope, unit: 'ms', limit: () => limit().ms, before },
  ]
}

export const NO_SPENDING: Spending = { usd: 0, tokens: 0, unpricedTokens: 0, ms: 0 }
