import { costOf, type PriceTable, type UsageInfo } from '@chirality/core'
import { addUsage } from './api/usage.ts'
import type { Spending } from './result-event.ts'

/** Adds up what the answers of a turn cost. */
export class SpendingMeter {
  readonly #prices: PriceTable | undefined
  readonly #models: Record<string, { usage: UsageInfo; costUsd: number }> = {}

  constructor(prices: PriceTable | undefined) {
    this.#prices = prices
  }

  add(usage: UsageInfo, model: string): void {
    const before = this.#models[model]
    const costUsd = costOf(usage, model, this.#prices) ?? 0
    this.#models[model] = before
      ? { usage: addUsage(before.usage, usage), costUsd: before.costUsd + costUsd }
      : { usage, costUsd }
  }

  get spending(): Spending {
    const costUsd = Object.values(this.#models).reduce((total, model) => total + model.costUsd, 0)
    return { costUsd, models: { ...this.#models } }
  }
}
