import type { UsageInfo } from '../../events/ui-event.ts'
import { roundUsd } from '../../money/cost.ts'
import type { ClaudeResultEvent } from '../../native/claude/other-events.ts'
import { asNumber, asObject, type JsonObject } from '../../native/loose.ts'

export function readUsage(value: unknown): UsageInfo {
  return mergeUsage(value, undefined)
}

/** The counts at the start of an answer, overridden by those at its end. */
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

/** The usage of all models of a result together. */
export interface ModelTotals {
  /** Undefined if there are models and none of them states a price. */
  costUsd: number | undefined
  usage: UsageInfo
}

/** The sum over the models of a result's `modelUsage`. */
export function modelTotals(models: JsonObject): ModelTotals {
  const sum = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0 }
  const values = Object.values(models)
  let costUsd = values.length === 0 ? 0 : undefined
  for (const value of values) {
    const model = asObject(value) ?? {}
    sum.input += asNumber(model.inputTokens) ?? 0
    sum.output += asNumber(model.outputTokens) ?? 0
    sum.cacheRead += asNumber(model.cacheReadInputTokens) ?? 0
    sum.cacheCreation += asNumber(model.cacheCreationInputTokens) ?? 0
    const cost = asNumber(model.costUSD)
    if (cost !== undefined) costUsd = (costUsd ?? 0) + cost
  }
  return { costUsd, usage: usageOf(sum) }
}

/** The growth since `before`. A smaller total means that the count was reset. */
export function subtractTotals(total: ModelTotals, before: ModelTotals): ModelTotals {
  const keys = Object.keys(total.usage) as (keyof UsageInfo)[]
  const shrank = keys.some(key => (total.usage[key] ?? 0) < (before.usage[key] ?? 0))
  if (shrank || (total.costUsd ?? 0) < (before.costUsd ?? 0)) return total
  return {
    costUsd: total.costUsd === undefined ? undefined : total.costUsd - (before.costUsd ?? 0),
    usage: subtractUsage(total.usage, before.usage),
  }
}

/** Never below zero: a smaller total means that the count was reset. */
export function subtractUsage(total: UsageInfo, before: UsageInfo): UsageInfo {
  const rest = (key: keyof UsageInfo) => Math.max(0, (total[key] ?? 0) - (before[key] ?? 0))
  return usageOf({
    input: rest('input_tokens'),
    output: rest('output_tokens'),
    cacheRead: rest('cache_read_input_tokens'),
    cacheCreation: rest('cache_creation_input_tokens'),
  })
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

/** Converts the running totals of a process into the cost of each result. */
export interface Ledger {
  settle(result: ClaudeResultEvent): { costUsd: number; usage: UsageInfo }
  /** A new conversation in the same process counts from zero. */
  reset(): void
}

export function createLedger(): Ledger {
  let totalCostUsd = 0
  let totals = modelTotals({})

  return {
    settle(result) {
      const total = asNumber(result.total_cost_usd) ?? totalCostUsd
      const growth = total >= totalCostUsd ? total - totalCostUsd : total
      const { spent, now } = readModels(result, totals)
      totalCostUsd = total
      totals = now
      // Cost and tokens come from one source if possible: `usage` lacks sub-agents and side requests, and the total can
      // be older than the counts beside it.
      return {
        costUsd: roundUsd(spent?.costUsd ?? growth),
        usage: spent?.usage ?? readUsage(result.usage),
      }
    },
    reset() {
      totalCostUsd = 0
      totals = modelTotals({})
    },
  }
}

/** The usage of all models since the previous result; the agent's own figure is preferred. */
function readModels(result: ClaudeResultEvent, before: ModelTotals) {
  const since = asObject(result.model_usage_since_last_result)
  const models = asObject(result.modelUsage)
  const now = models ? modelTotals(models) : before
  if (since) return { spent: modelTotals(since), now }
  // An empty list has no information about the usage.
  const counted = models && Object.keys(models).length > 0
  return { spent: counted ? subtractTotals(now, before) : undefined, now }
}
