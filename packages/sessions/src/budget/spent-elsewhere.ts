import { formatDuration } from '@chirality/core'
import type { Spending } from './budget-book.ts'
import { AMOUNT_TEXTS, amountOf, type BudgetUnit, NO_SPENDING } from './budget-limits.ts'

/** The money, tokens, duration and number of turns of a project on one machine. */
export interface ProjectSpending extends Spending {
  turns: number
}

/** What another machine spent on the same project, as it was last told. */
export interface SpentElsewhere extends ProjectSpending {
  machine: string
  /** By the clock of this machine. Null: at an unknown time, before it listened. */
  at: string | null
}

/**
 * Finds what other machines spent on a project, before each turn: its name in the fleet is read from its files. What it
 * returns is asked again while the turn runs.
 */
export type FindElsewhere = (projectRoot: string) => Promise<() => SpentElsewhere[]>

export const nothingElsewhere: FindElsewhere = async () => () => []

export function sumElsewhere(spent: readonly SpentElsewhere[]): ProjectSpending {
  return spent.reduce<ProjectSpending>(
    (sum, { usd, tokens, unpricedTokens, ms, turns }) => ({
      usd: (sum.usd ?? 0) + (usd ?? 0),
      tokens: sum.tokens + tokens,
      unpricedTokens: sum.unpricedTokens + unpricedTokens,
      ms: sum.ms + ms,
      turns: sum.turns + turns,
    }),
    { ...NO_SPENDING, turns: 0 },
  )
}

/** Each machine that counts towards a limit, with what counts, and how old that is. Undefined if none does. */
export function elsewhereText(
  spent: readonly SpentElsewhere[],
  unit: BudgetUnit | 'turns',
  now = Date.now(),
): string | undefined {
  const each = spent.flatMap(one => {
    const amount = unit === 'turns' ? one.turns : amountOf({ unit }, one)
    if (amount <= 0) return []
    const text =
      unit === 'turns' ? `${amount} ${amount === 1 ? 'turn' : 'turns'}` : AMOUNT_TEXTS[unit](amount)
    return [`${text} on ${one.machine}, ${ageText(one.at, now)}`]
  })
  if (each.length === 0) return undefined
  return `This counts other machines: ${each.join('; ')}.`
}

export function ageText(at: string | null, now = Date.now()): string {
  if (at === null) return 'as it said at an unknown time'
  const ms = Math.max(0, now - Date.parse(at))
  return ms < FRESH_MS ? 'as it says now' : `as it said ${formatDuration(ms)} ago`
}

/** Machines tell it every 5 seconds. */
const FRESH_MS = 15_000
