import type { ClaudeResultEvent } from '../../native/claude/result-event.ts'
import { asNumber, asObject, type JsonObject } from '../../native/loose.ts'
import type { UsageInfo } from '../../ui-event.ts'
import { isEmptyUsage, readModelUsage, readUsage, subtractUsage } from './usage.ts'

/** Turns the running totals of a process into what each result cost. */
export interface Ledger {
  settle(result: ClaudeResultEvent): { costUsd: number; usage: UsageInfo }
  /** A new conversation in the same process counts from zero. */
  reset(): void
}

export function createLedger(): Ledger {
  let totalCostUsd = 0
  let totalUsage = readUsage(undefined)

  return {
    settle(result) {
      const total = asNumber(result.total_cost_usd) ?? totalCostUsd
      const since = asObject(result.model_usage_since_last_result)
      const costUsd = since ? sumCost(since) : total >= totalCostUsd ? total - totalCostUsd : total
      const models = asObject(result.modelUsage)
      const used = models ? readModelUsage(models) : totalUsage
      const stated = readUsage(result.usage)
      // A turn that its budget or an interrupt ended states no tokens at all; the totals per model know better.
      const usage = isEmptyUsage(stated)
        ? since
          ? readModelUsage(since)
          : subtractUsage(used, totalUsage)
        : stated
      totalCostUsd = total
      totalUsage = used
      return { costUsd: roundUsd(costUsd), usage }
    },
    reset() {
      totalCostUsd = 0
      totalUsage = readUsage(undefined)
    },
  }
}

function sumCost(models: JsonObject): number {
  let sum = 0
  for (const model of Object.values(models)) sum += asNumber(asObject(model)?.costUSD) ?? 0
  return sum
}

/** Sums of prices come as 0.0038200000000000005. A number beyond all money, or none at all, is no price. */
function roundUsd(usd: number): number {
  const rounded = Math.round(usd * 1e9) / 1e9
  return Number.isFinite(rounded) ? rounded : 0
}
