import { usdText } from './cost.ts'
import type { BudgetEvent } from './ui-event.ts'

/** What a budget event says to a person: what was spent, of what, and by how much that is too much. */
export function budgetText(event: BudgetEvent): string {
  if (event.message !== undefined) return event.message
  const { scope, exceeded } = event
  const [spent, limit, over] = amounts(event)
  if (!exceeded) return `${spent} of the ${scope}'s budget of ${limit} is used.`
  const overrun = over === undefined ? '' : `, ${over} over by the model call that used it up`
  return `Stopped: the ${scope}'s budget is used up. ${spent} of ${limit} was spent${overrun}.`
}

function amounts({ spentUsd, limitUsd, spentTokens, limitTokens }: BudgetEvent): [string, string, string?] {
  if (limitTokens !== undefined) {
    const over = (spentTokens ?? 0) - limitTokens
    return [tokensText(spentTokens ?? 0), tokensText(limitTokens), over > 0 ? tokensText(over) : undefined]
  }
  const over = (spentUsd ?? 0) - (limitUsd ?? 0)
  return [usdText(spentUsd ?? 0), usdText(limitUsd ?? 0), over > 0 ? usdText(over) : undefined]
}

export function tokensText(tokens: number): string {
  return `${Math.round(tokens).toLocaleString('en-US')} tokens`
}
