import { formatDuration, type UsageInfo } from '@chirality/core'

/** `$0.0012 · 100 in · 20 out · 300 ms` */
export function costLine(turn: {
  costUsd?: number
  /** By list price, where the agent stated nothing. */
  estimateUsd?: number
  usage: UsageInfo
  durationMs?: number
}): string {
  const { costUsd, estimateUsd, usage, durationMs } = turn
  const input =
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
  const isStated = costUsd !== undefined && (costUsd > 0 || estimateUsd === undefined)
  const known = isStated ? [`$${costUsd.toFixed(4)}`] : []
  const parts = !isStated && estimateUsd !== undefined ? [`≈ $${estimateUsd.toFixed(4)}`] : known
  parts.push(`${input} in`, `${usage.output_tokens} out`)
  if (durationMs !== undefined) parts.push(formatDuration(durationMs))
  return parts.join(' · ')
}
