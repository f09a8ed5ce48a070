import { ASSUMED_USD_PER_MILLION, type BudgetEvent, type BudgetScope, roundUsd } from '@chirality/core'
import type { Spending } from './budget-book.ts'

/** What a budget counts. Time is that of turns, without what they waited for a person. */
export type BudgetUnit = 'usd' | 'tokens' | 'ms'

/** One budget that a turn counts towards. */
export interface BudgetLimit {
  scope: BudgetScope
  unit: BudgetUnit
  /** As it is now: it can be raised while the turn runs. Undefined is no limit. */
  limit: () => number | undefined
  /** Spent by others than this turn. */
  before: () => Spending
}

/** What a turn's budgets have to say as it spends: once at four fifths, once when nothing is left. */
export class BudgetLimits {
  readonly #limits: readonly BudgetLimit[]
  /** The limit that was warned of: a higher one is another. */
  readonly #warned = new Map<BudgetLimit, number>()
  /** What had been spent when it was told that nothing is left. */
  readonly #exceeded = new Map<BudgetLimit, number>()

  constructor(limits: readonly BudgetLimit[]) {
    this.#limits = limits
  }

  /** It was told that nothing is left of one. */
  get hasExceeded(): boolean {
    return this.#exceeded.size > 0
  }

  /** One of those that were told of has nothing left still. */
  isExceeded(turn: Spending, unit?: BudgetUnit): boolean {
    const told = [...this.#exceeded.keys()].filter(limit => unit === undefined || limit.unit === unit)
    return told.some(limit => spentOf(limit, turn) >= limitOf(limit))
  }

  /** Time has a limit now. */
  get hasTime(): boolean {
    return this.#limits.some(({ unit, limit }) => unit === 'ms' && limit() !== undefined)
  }

  /** The least time that is left; undefined when time has no limit. */
  leftMs(turn: Spending): number | undefined {
    return this.#left('ms', turn)
  }

  /** The least that is left of a budget in dollars; undefined when there is none. */
  get leftUsd(): number | undefined {
    return this.#left('usd', NOTHING)
  }

  #left(unit: BudgetUnit, turn: Spending): number | undefined {
    const left = this.#limits.flatMap(limit =>
      limit.unit === unit ? [Math.max(0, limitOf(limit) - spentOf(limit, turn))] : [],
    )
    const least = Math.min(...left)
    return Number.isFinite(least) ? least : undefined
  }

  /** News for a turn that has spent this much. */
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

  /** At the end of a turn: what more it spent after it was told that a budget is used up. */
  last(sessionId: string, turn: Spending): BudgetEvent[] {
    return [...this.#exceeded].flatMap(([limit, told]) => {
      // Time goes on until the agent has stopped; that is no news.
      if (limit.unit === 'ms') return []
      const spent = spentOf(limit, turn)
      return spent > told && spent >= limitOf(limit) ? [budgetEvent(sessionId, limit, spent)] : []
    })
  }

  /** The first that has nothing left, before the turn begins or when it has spent this much. */
  usedUp(turn: Spending = NOTHING): UsedUp | undefined {
    const limit = this.#limits.find(each => spentOf(each, turn) >= limitOf(each))
    if (limit === undefined) return undefined
    const { scope, unit } = limit
    return { scope, unit, spent: spentOf(limit, turn), most: limitOf(limit) }
  }
}

/** A budget of which nothing is left. */
export interface UsedUp {
  scope: BudgetScope
  unit: BudgetLimit['unit']
  spent: number
  most: number
}

const WARN_SHARE = 0.8

function limitOf({ limit }: BudgetLimit): number {
  return limit() ?? Number.POSITIVE_INFINITY
}

function spentOf(limit: BudgetLimit, turn: Spending): number {
  return roundUsd(amountOf(limit, limit.before()) + amountOf(limit, turn))
}

/** Tokens without a price count towards dollars, too: what has no price is not free. */
function amountOf({ unit }: BudgetLimit, { usd, tokens, unpricedTokens, ms }: Spending): number {
  if (unit === 'tokens') return tokens
  if (unit === 'ms') return ms
  return roundUsd((usd ?? 0) + (unpricedTokens * ASSUMED_USD_PER_MILLION) / 1e6)
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

/** What was spent from one point of a session to a later one. */
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

export const NOTHING: Spending = { usd: 0, tokens: 0, unpricedTokens: 0, ms: 0 }
