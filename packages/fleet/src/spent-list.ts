import { z } from 'zod'
import { lenientList } from './lenient-list.ts'
import { isMachineName } from './subjects.ts'

const amount = z.number().min(0).transform(bounded)

/** Spending of a machine on a project, by the project's common name. */
export const projectSpent = z.object({
  key: z.string().max(1000),
  usd: amount.nullable(),
  tokens: amount,
  unpricedTokens: amount,
  ms: amount,
  turns: amount,
})
export type ProjectSpent = z.infer<typeof projectSpent>

/** Limit of projects per machine. */
export const MAX_PROJECTS = 10_000

export const spentList = lenientList(projectSpent, MAX_PROJECTS)

/** Spending of other machines that a hub sends, one entry per project and machine. */
export const toldSpending = lenientList(
  projectSpent.extend({
    machine: z.string().refine(isMachineName),
    /** Age of the amount at the hub. Null if it was stored before the hub listened. */
    ageMs: amount.nullable(),
  }),
  MAX_PROJECTS,
)
export type ToldSpending = z.infer<typeof toldSpending>

/** Sums the amounts of several clones into one entry per project, bounded to values that every machine accepts. */
export function summedSpending(spent: readonly ProjectSpent[]): ProjectSpent[] {
  const sums = new Map<string, ProjectSpent>()
  for (const one of spent) {
    const sum = sums.get(one.key) ?? NOTHING_SPENT
    sums.set(one.key, { key: one.key, ...combined(sum, one, (a, b) => bounded(a + b)) })
  }
  return [...sums.values()]
}

/** Amounts never fall, so the lower of two is the older one. */
export function largestSpending(a: ProjectSpent, b: ProjectSpent): ProjectSpent {
  return { key: b.key, ...combined(a, b, Math.max) }
}

export function isSameSpending(a: Amounts, b: Amounts): boolean {
  return NAMES.every(name => a[name] === b[name])
}

type Amounts = Omit<ProjectSpent, 'key'>

const NAMES = ['usd', 'tokens', 'unpricedTokens', 'ms', 'turns'] as const
export const NOTHING_SPENT: Amounts = { usd: 0, tokens: 0, unpricedTokens: 0, ms: 0, turns: 0 }

function combined(a: Amounts, b: Amounts, combine: (a: number, b: number) => number): Amounts {
  return {
    usd: a.usd === null && b.usd === null ? null : combine(a.usd ?? 0, b.usd ?? 0),
    tokens: combine(a.tokens, b.tokens),
    unpricedTokens: combine(a.unpricedTokens, b.unpricedTokens),
    ms: combine(a.ms, b.ms),
    turns: combine(a.turns, b.turns),
  }
}

/**
 * Bounds an amount: a budget file can hold any number, and a larger one would be refused by other machines or written
 * as null.
 */
function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
