import { type CostLedger, costSoFar, roundUsd } from './cost.ts'

/** What was spent on one model within a quarter of an hour: every time zone's days consist of whole ones. */
export interface Spend {
  /** Quarters of an hour since 1970. */
  slot: number
  /** Empty if the agent did not name it. */
  model: string
  usd: number
  /** The part of it that the agent stated; the rest is by list price. */
  statedUsd: number
  tokens: number
  /** Of these, the tokens without a price. Negative where an agent stated the cost of earlier ones. */
  unpricedTokens: number
}

export const SLOT_MS = 15 * 60 * 1000

interface Change {
  /** ISO 8601. */
  at: string
  model: string
  before: CostLedger
  after: CostLedger
}

/** Adds a change of the ledger. All spends of a session together are its cost. */
export function addSpend(spends: readonly Spend[], change: Change): readonly Spend[] {
  const spend = spendOf(change, spends.at(-1)?.slot ?? 0)
  const { usd, statedUsd, tokens, unpricedTokens, slot } = spend
  if (usd === 0 && statedUsd === 0 && tokens === 0 && unpricedTokens === 0) return spends
  const index = spends.findLastIndex(one => one.slot === slot && one.model === spend.model)
  const known = spends[index]
  return known === undefined ? [...withoutOld(spends, slot), spend] : spends.with(index, sum(known, spend))
}

function spendOf({ at, model, before, after }: Change, lastSlot: number): Spend {
  const from = costSoFar(before)
  const to = costSoFar(after)
  const time = Date.parse(at)
  return {
    slot: Number.isNaN(time) ? lastSlot : Math.floor(time / SLOT_MS),
    model,
    usd: roundUsd((to.usd ?? 0) - (from.usd ?? 0)),
    statedUsd: roundUsd(after.statedUsd - before.statedUsd),
    tokens: to.tokens - from.tokens,
    unpricedTokens: to.unpricedTokens - from.unpricedTokens,
  }
}

function sum(a: Spend, b: Spend): Spend {
  return {
    slot: a.slot,
    model: a.model,
    usd: roundUsd(a.usd + b.usd),
    statedUsd: roundUsd(a.statedUsd + b.statedUsd),
    tokens: a.tokens + b.tokens,
    unpricedTokens: a.unpricedTokens + b.unpricedTokens,
  }
}

/** What is too old for every view becomes one spend for each model, so that a session of years stays small. */
function withoutOld(spends: readonly Spend[], slot: number): readonly Spend[] {
  const oldest = slot - KEPT_SLOTS
  if (spends.filter(one => one.slot < oldest).length < MAX_OLD) return spends
  const old = new Map<string, Spend>()
  for (const spend of spends) {
    if (spend.slot >= oldest) continue
    const known = old.get(spend.model)
    old.set(spend.model, known === undefined ? spend : sum(known, spend))
  }
  return [...old.values(), ...spends.filter(one => one.slot >= oldest)]
}

/** 100 days; the longest view has 90. */
const KEPT_SLOTS = (100 * 24 * 60 * 60 * 1000) / SLOT_MS
const MAX_OLD = 200
