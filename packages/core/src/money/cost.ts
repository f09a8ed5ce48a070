import type { SessionCompleteEvent, SessionErrorEvent, UIEvent, UsageInfo } from '../events/ui-event.ts'
import { costOf } from './prices.ts'

/** The cost of a session or a turn, as far as it is known. */
export interface Cost {
  /** Null if tokens were used whose price is unknown. Never decreases. */
  usd: number | null
  /** A part of it is by list price, or has no price. */
  isEstimate: boolean
  /** All tokens that models read and wrote, cached or not. Never decreases. */
  tokens: number
  /** The tokens without a price whose cost no agent stated. */
  unpricedTokens: number
}

/**
 * The state of `addCost`; plain JSON. A cost that an agent states is used; until then, each answer counts by its list
 * price. An estimate that was too high stays until the true sum has reached it, so that no shown number decreases.
 */
export interface CostLedger {
  model: string
  /** As the agents stated it. */
  statedUsd: number
  /** For turns that ended without a stated cost. */
  estimatedUsd: number
  unpricedTokens: number
  /** For answers since the last stated cost. */
  openUsd: number
  openUnpricedTokens: number
  /** The highest cost that was ever shown. */
  highUsd: number
  settledTokens: number
  openTokens: number
  highTokens: number
}

export const NO_COST: CostLedger = {
  model: '',
  statedUsd: 0,
  estimatedUsd: 0,
  unpricedTokens: 0,
  openUsd: 0,
  openUnpricedTokens: 0,
  highUsd: 0,
  settledTokens: 0,
  openTokens: 0,
  highTokens: 0,
}

/** The only fold of cost: server, dashboard, command line and exports all use it. Pure. */
export function addCost(ledger: CostLedger, event: UIEvent): CostLedger {
  switch (event.type) {
    case 'session:init':
      return event.model === ledger.model ? ledger : { ...ledger, model: event.model }
    case 'turn:start':
      return settled(ledger)
    case 'usage': {
      const tokens = allTokens(event.usage)
      const usd = event.estimateUsd ?? costOf(event.usage, event.model ?? ledger.model)
      return raised({
        ...ledger,
        openUsd: ledger.openUsd + (usd ?? 0),
        openUnpricedTokens: ledger.openUnpricedTokens + (usd === undefined ? tokens : 0),
        openTokens: ledger.openTokens + tokens,
      })
    }
    case 'session:complete':
    case 'session:error':
      return withResult(ledger, event)
    default:
      return ledger
  }
}

/** The sums of the ledger. */
export function costSoFar(ledger: CostLedger): Cost {
  const unpricedTokens = ledger.unpricedTokens + ledger.openUnpricedTokens
  const isEstimate = unpricedTokens > 0 || ledger.highUsd !== roundUsd(ledger.statedUsd)
  const usd = unpricedTokens > 0 && ledger.highUsd === 0 ? null : ledger.highUsd
  return { usd, isEstimate, tokens: ledger.highTokens, unpricedTokens }
}

/** The cost between two states of a ledger. The parts of a session add up to its whole. */
export function costBetween(before: CostLedger, after: CostLedger): Cost {
  const from = costSoFar(before)
  const to = costSoFar(after)
  const usd = roundUsd((to.usd ?? 0) - (from.usd ?? 0))
  const unpricedTokens = Math.max(0, to.unpricedTokens - from.unpricedTokens)
  const stated = roundUsd(after.statedUsd - before.statedUsd)
  return {
    usd: unpricedTokens > 0 && usd === 0 ? null : usd,
    isEstimate: unpricedTokens > 0 || usd !== stated,
    tokens: to.tokens - from.tokens,
    unpricedTokens,
  }
}

/** Every token is counted in exactly one of the four. */
export function allTokens(usage: UsageInfo): number {
  const { input_tokens, output_tokens, cache_read_input_tokens = 0, cache_creation_input_tokens = 0 } = usage
  return input_tokens + output_tokens + cache_read_input_tokens + cache_creation_input_tokens
}

/**
 * Rounds to a nanodollar, because sums of prices give 0.0038200000000000005. An absurdly large number, or NaN, is no
 * price.
 */
export function roundUsd(usd: number): number {
  const rounded = Math.round(usd * 1e9) / 1e9
  return Number.isFinite(rounded) ? rounded : 0
}

/** `$0.0123`, `≈ $1.50`, or undefined if it is not known. */
export function costText(cost: Pick<Cost, 'usd' | 'isEstimate'>): string | undefined {
  if (cost.usd === null) return undefined
  return `${cost.isEstimate && cost.usd > 0 ? '≈ ' : ''}${usdText(cost.usd)}`
}

export function usdText(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 1 ? 4 : 2)}`
}

/** The stated cost of the answers comes at the end of the turn; if no agent states it, the estimate is final. */
function settled(ledger: CostLedger): CostLedger {
  return {
    ...ledger,
    estimatedUsd: ledger.estimatedUsd + ledger.openUsd,
    unpricedTokens: ledger.unpricedTokens + ledger.openUnpricedTokens,
    settledTokens: ledger.settledTokens + ledger.openTokens,
    openUsd: 0,
    openUnpricedTokens: 0,
    openTokens: 0,
  }
}

function withResult(ledger: CostLedger, event: SessionCompleteEvent | SessionErrorEvent): CostLedger {
  const { usage, costUsd } = event
  const tokens = usage ? allTokens(usage) : 0
  const counted =
    tokens > 0
      ? { settledTokens: ledger.settledTokens + Math.max(tokens, ledger.openTokens), openTokens: 0 }
      : {}
  // An agent that knows no prices states nothing, or 0: the estimate stays then.
  if (costUsd) {
    const statedUsd = ledger.statedUsd + costUsd
    return raised({ ...ledger, ...counted, statedUsd, openUsd: 0, openUnpricedTokens: 0 })
  }
  if (usage === undefined || tokens <= ledger.openTokens) return raised({ ...ledger, ...counted })
  // An agent that reports no counts for single answers: the result has all of them.
  const usd = event.estimateUsd ?? costOf(usage, ledger.model)
  const openUnpricedTokens =
    usd === undefined ? Math.max(ledger.openUnpricedTokens, tokens) : ledger.openUnpricedTokens
  return raised({ ...ledger, ...counted, openUsd: Math.max(ledger.openUsd, usd ?? 0), openUnpricedTokens })
}

function raised(ledger: CostLedger): CostLedger {
  const usd = roundUsd(ledger.statedUsd + ledger.estimatedUsd + ledger.openUsd)
  return {
    ...ledger,
    highUsd: Math.max(ledger.highUsd, usd),
    highTokens: Math.max(ledger.highTokens, ledger.settledTokens + ledger.openTokens),
  }
}

export function sumUsage(a: UsageInfo, b: UsageInfo): UsageInfo {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_read_input_tokens: (a.cache_read_input_tokens ?? 0) + (b.cache_read_input_tokens ?? 0),
    cache_creation_input_tokens: (a.cache_creation_input_tokens ?? 0) + (b.cache_creation_input_tokens ?? 0),
  }
}
