import { formatDuration, type UsageInfo } from '@chirality/core'

/** `$0.0012 · 100 in · 20 out · 300 ms` */
export function costLine(turn: {
  costUsd?: number | undefined
  usage: UsageInfo
  durationMs?: number
}): string {
  const { costUsd, usage, durationMs } = turn
  const input =
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
  const parts = costUsd === undefined ? [] : [`$${costUsd.toFixed(4)}`]
  parts.push(`${input} in`, `${usage.output_tokens} out`)
  if (durationMs !== undefined) parts.push(formatDuration(durationMs))
  return parts.join(' · ')
}
