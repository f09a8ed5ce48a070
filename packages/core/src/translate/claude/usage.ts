import { asNumber, asObject, type JsonObject } from '../../native/loose.ts'
import type { UsageInfo } from '../../ui-event.ts'

export function readUsage(value: unknown): UsageInfo {
  return mergeUsage(value, undefined)
}

/** The counts at the start of an answer, overridden by what its end says. */
export function mergeUsage(start: unknown, end: unknown): UsageInfo {
  const first = asObject(start) ?? {}
  const last = asObject(end) ?? {}
  const pick = (key: keyof UsageInfo) => asNumber(last[key]) ?? asNumber(first[key])
  return usageOf({
    input: pick('input_tokens'),
    output: pick('output_tokens'),
    cacheRead: pick('cache_read_input_tokens'),
    cacheCreation: pick('cache_creation_input_tokens'),
  })
}

/** The sum over the models of a result's `modelUsage`. */
export function readModelUsage(models: JsonObject): UsageInfo {
  const sum = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0 }
  for (const value of Object.values(models)) {
    const model = asObject(value) ?? {}
    sum.input += asNumber(model.inputTokens) ?? 0
    sum.output += asNumber(model.outputTokens) ?? 0
    sum.cacheRead += asNumber(model.cacheReadInputTokens) ?? 0
    sum.cacheCreation += asNumber(model.cacheCreationInputTokens) ?? 0
  }
  return usageOf(sum)
}

/** Never below zero: a smaller total means that the count began again. */
export function subtractUsage(total: UsageInfo, before: UsageInfo): UsageInfo {
  const rest = (key: keyof UsageInfo) => Math.max(0, (total[key] ?? 0) - (before[key] ?? 0))
  return usageOf({
    input: rest('input_tokens'),
    output: rest('output_tokens'),
    cacheRead: rest('cache_read_input_tokens'),
    cacheCreation: rest('cache_creation_input_tokens'),
  })
}

export function isEmptyUsage(usage: UsageInfo): boolean {
  return (
    usage.input_tokens === 0 &&
    usage.output_tokens === 0 &&
    (usage.cache_read_input_tokens ?? 0) === 0 &&
    (usage.cache_creation_input_tokens ?? 0) === 0
  )
}

interface Counts {
  input: number | undefined
  output: number | undefined
  cacheRead: number | undefined
  cacheCreation: number | undefined
}

function usageOf(counts: Counts): UsageInfo {
  const usage: UsageInfo = { input_tokens: counts.input ?? 0, output_tokens: counts.output ?? 0 }
  if (counts.cacheRead !== undefined) usage.cache_read_input_tokens = counts.cacheRead
  if (counts.cacheCreation !== undefined) usage.cache_creation_input_tokens = counts.cacheCreation
  return usage
}
