import { formatDuration, usdText } from '@chirality/core'
import type { Spending } from './budget-book.ts'
import { NOTHING } from './budget-limits.ts'

/** The money, tokens, duration and number of turns of a project on one machine. */
export interface ProjectSpending extends Spending {
  turns: number
}

/** What another machine spent on the same project, as it was last told. */
export interface SpentElsewhere extends ProjectSpending {
  machine: string
  /** By the clock of this machine. Null: before this machine listened. */
  at: string | null
}

export function sumElsewhere(spent: readonly SpentElsewhere[]): ProjectSpending {
  return spent.reduce<ProjectSpending>(
    (sum, { usd, tokens, unpricedTokens, ms, turns }) => ({
      usd: (sum.usd ?? 0) + (usd ?? 0),
      tokens: sum.tokens + tokens,
      unpricedTokens: sum.unpricedTokens + unpricedTokens,
      ms: sum.ms + ms,
      turns: sum.turns + turns,
    }),
    { ...NOTHING, turns: 0 },
  )
}

/** The machines that spent something, and how old that is. Undefined if none did. */
export function elsewhereText(spent: readonly SpentElsewhere[], now = Date.now()): string | undefined {
  const told = spent.filter(({ turns, tokens }) => turns > 0 || tokens > 0)
  if (told.length === 0) return undefined
  const each = told.map(({ machine, usd, at }) => `${usdText(usd ?? 0)} on ${machine}, ${ageText(at, now)}`)
  return `This counts other machines: ${each.join('; ')}.`
}

export function ageText(at: string | null, now = Date.now()): string {
  if (at === null) return 'as it said before this server started'
  const ms = Math.max(0, now - Date.parse(at))
  return ms < FRESH_MS ? 'as it says now' : `as it said ${formatDuration(ms)} ago`
}

/** Machines tell it every 5 seconds. */
const FRESH_MS = 15_000
