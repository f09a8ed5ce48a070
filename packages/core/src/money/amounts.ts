import type { BudgetEvent } from '../events/ui-event.ts'
import { usdText } from './cost.ts'

/** The text of a budget event: the spending, the limit and the excess. */
export function budgetText(event: BudgetEvent): string {
  if (event.message !== undefined) return event.message
  const { scope, exceeded } = event
  const [spent, limit, over] = amounts(event)
  if (!exceeded) return `${spent} of the ${scope}'s budget of ${limit} is used.`
  const overrun = over === undefined ? '' : `, ${over}`
  return `Stopped: the ${scope}'s budget is used up. ${spent} of ${limit} was spent${overrun}.`
}

function amounts(event: BudgetEvent): [string, string, string?] {
  const { spentUsd = 0, limitUsd = 0, spentTokens = 0, limitTokens, spentMs = 0, limitMs } = event
  // A turn is stopped immediately at its time limit, so there is no excess to report.
  if (limitMs !== undefined) return [formatDuration(spentMs), formatDuration(limitMs)]
  const [spent, limit, text] =
    limitTokens === undefined
      ? ([spentUsd, limitUsd, usdText] as const)
      : ([spentTokens, limitTokens, tokensText] as const)
  const over = `${text(spent - limit)} over by the model call that used it up`
  return [text(spent), text(limit), spent > limit ? over : undefined]
}

export function tokensText(tokens: number): string {
  return `${Math.round(tokens).toLocaleString('en-US')} tokens`
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

/** `38 ms`, `4.2 s`, `1 min 12 s`, `2 h 5 min`. Rounded before the division, so that there is no `60 s` or `60 min`. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < SECOND_MS) return `${Math.round(ms)} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 100) return `${(tenths / 10).toFixed(1)} s`
  const seconds = Math.round(ms / SECOND_MS)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(ms / MINUTE_MS)
  if (seconds < 60 * 60) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return `${large} ${largeUnit}${small > 0 ? ` ${small} ${smallUnit}` : ''}`
}

/** How many sessions or tasks wait for a person. */
export function needsYouText(count: number): string {
  return `${count} ${count === 1 ? 'needs you' : 'need you'}`
}
