import { ASSUMED_USD_PER_MILLION, allTokens, costOf, type PriceTable, type UsageInfo } from '@chirality/core'
import { addUsage } from '../api/usage.ts'
import type { Spending } from './result-event.ts'

/** Adds up what the answers of a turn cost. */
export class SpendingMeter {
  readonly #prices: PriceTable | undefined
  readonly #models: Record<string, { usage: UsageInfo; costUsd: number }> = {}
  #unpricedTokens = 0

  constructor(prices: PriceTable | undefined) {
    this.#prices = prices
  }

  add(usage: UsageInfo, model: string): void {
    const before = this.#models[model]
    const price = costOf(usage, model, this.#prices)
    if (price === undefined) this.#unpricedTokens += allTokens(usage)
    const costUsd = price ?? 0
    this.#models[model] = before
      ? { usage: addUsage(before.usage, usage), costUsd: before.costUsd + costUsd }
      : { usage, costUsd }
  }

  get spending(): Spending {
    return { costUsd: this.#unpricedTokens > 0 ? undefined : this.#pricedUsd, models: { ...this.#models } }
  }

  /** What counts towards a budget in dollars: what has no price is not free. */
  get budgetedUsd(): number {
    return this.#pricedUsd + (this.#unpricedTokens * ASSUMED_USD_PER_MILLION) / 1e6
  }

  get #pricedUsd(): number {
    return Object.values(this.#models).reduce((total, model) => total + model.costUsd, 0)
  }
}
