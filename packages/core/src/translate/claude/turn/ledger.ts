import type { UsageInfo } from '../../../events/ui-event.ts'
import type { ClaudeResultEvent } from '../../../native/claude/result-event.ts'
import { asNumber, asObject } from '../../../native/loose.ts'
import { type ModelTotals, modelTotals, readUsage, subtractTotals } from './usage.ts'

/** Turns the running totals of a process into what each result cost. */
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
      // Cost and tokens from one place where there is one: `usage` leaves out sub-agents and side requests, and the
      // total can be older than the counts beside it.
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

/** What all models used since the result before; the agent's own account of it goes before ours. */
function readModels(result: ClaudeResultEvent, before: ModelTotals) {
  const since = asObject(result.model_usage_since_last_result)
  const models = asObject(result.modelUsage)
  const now = models ? modelTotals(models) : before
  if (since) return { spent: modelTotals(since), now }
  // An empty list says nothing about what was used.
  const counted = models && Object.keys(models).length > 0
  return { spent: counted ? subtractTotals(now, before) : undefined, now }
}

/** Sums of prices come as 0.0038200000000000005. A number beyond all money, or none at all, is no price. */
function roundUsd(usd: number): number {
  const rounded = Math.round(usd * 1e9) / 1e9
  return Number.isFinite(rounded) ? rounded : 0
}
