import type { BudgetEvent } from '@chirality/core'

/** One budget that a turn counts towards. */
export interface BudgetLimit {
  scope: BudgetEvent['scope']
  limitUsd: number
  /** Spent by others than this turn. */
  beforeUsd: () => number
}

/** What a turn's budgets have to say as it spends: once at four fifths, once when nothing is left. */
export class BudgetLimits {
  readonly #limits: readonly BudgetLimit[]
  readonly #warned = new Set<BudgetLimit>()
  readonly #exceeded = new Set<BudgetLimit>()

  constructor(limits: readonly BudgetLimit[]) {
    this.#limits = limits
  }

  get isEmpty(): boolean {
    return this.#limits.length === 0
  }

  get isExceeded(): boolean {
    return this.#exceeded.size > 0
  }

  /** One of them is over by so much that no tool is worth waiting for. */
  isFarExceeded(turnUsd: number): boolean {
    return this.#limits.some(({ limitUsd, beforeUsd }) => beforeUsd() + turnUsd >= limitUsd * FAR_SHARE)
  }

  /** News for a turn that has spent this much. */
  check(sessionId: string, turnUsd: number): BudgetEvent[] {
    return this.#limits.flatMap(limit => {
      const { scope, limitUsd, beforeUsd } = limit
      const spentUsd = beforeUsd() + turnUsd
      const exceeded = spentUsd >= limitUsd
      const told = exceeded ? this.#exceeded : this.#warned
      if (spentUsd < limitUsd * WARN_SHARE || told.has(limit)) return []
      told.add(limit)
      return [{ type: 'budget', sessionId, scope, spentUsd, limitUsd, exceeded }]
    })
  }

  /** The first that has nothing left before the turn begins. */
  usedUp(): { scope: BudgetEvent['scope']; spentUsd: number; limitUsd: number } | undefined {
    const empty = this.#limits.find(({ limitUsd, beforeUsd }) => beforeUsd() >= limitUsd)
    return empty && { scope: empty.scope, spentUsd: empty.beforeUsd(), limitUsd: empty.limitUsd }
  }
}

const WARN_SHARE = 0.8
const FAR_SHARE = 1.2
