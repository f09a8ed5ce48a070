import { costOf, PRICES, type PriceTable, type UIEvent } from '@chirality/core'

/**
 * What a turn has cost so far. Answers are priced as they come, those of sub-agents too; what the agent itself states at
 * a result takes the place of the estimate.
 */
export class CostMeter {
  readonly #prices: PriceTable
  #statedUsd = 0
  #estimatedUsd = 0
  #model: string | undefined
  #unpriced: string | undefined

  constructor(prices: PriceTable = PRICES) {
    this.#prices = prices
  }

  get totalUsd(): number {
    return roundUsd(this.#statedUsd + this.#estimatedUsd)
  }

  /** A model that answered and has no price: it counts only when the agent states its cost. */
  get unpriced(): string | undefined {
    return this.#unpriced
  }

  add(event: UIEvent): void {
    switch (event.type) {
      case 'session:init':
        this.#model = event.model
        return
      case 'usage': {
        const model = event.model ?? this.#model ?? ''
        const costUsd = costOf(event.usage, model, this.#prices)
        if (costUsd === undefined) this.#unpriced ??= model
        else this.#estimatedUsd += costUsd
        return
      }
      case 'session:complete':
      case 'session:error':
        // An agent that never states a cost says 0, and then the estimate is all there is.
        if (!event.costUsd) return
        this.#statedUsd += event.costUsd
        this.#estimatedUsd = 0
        return
    }
  }
}

/** Sums of small floats drift; a nanodollar is below any price. */
export function roundUsd(value: number): number {
  return Math.round(value * 1e9) / 1e9
}
