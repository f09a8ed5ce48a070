import { type Cost, costText, formatDuration, type UsageInfo } from '@chirality/core'

/** `$0.0012 · 100 in · 20 out · 300 ms`; without the cost where nobody knows it, and with ≈ where a part is by list price. */
export function costLine(turn: {
  cost: Pick<Cost, 'usd' | 'isEstimate'>
  usage: UsageInfo
  durationMs?: number
}): string {
  const { cost, usage, durationMs } = turn
  const input =
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
  const parts = [`${input} in`, `${usage.output_tokens} out`]
  const text = costText(cost)
  if (text !== undefined) parts.unshift(text)
  if (durationMs !== undefined) parts.push(formatDuration(durationMs))
  return parts.join(' · ')
}
