import { z } from 'zod'
import { lenientList } from './lenient-list.ts'
import { isMachineName } from './subjects.ts'

const amount = z.number().min(0).transform(bounded)

/** What a machine spent on a project, by the name that the project has on every machine. */
export const projectSpent = z.object({
  key: z.string().max(1000),
  ...{ usd: amount.nullable(), tokens: amount, unpricedTokens: amount, ms: amount, turns: amount },
})
export type ProjectSpent = z.infer<typeof projectSpent>

/** Of one machine. */
export const MAX_PROJECTS = 10_000

export const spentList = lenientList(projectSpent, MAX_PROJECTS)

/** What a hub tells a machine of the others, one project of one machine each. */
export const toldSpending = lenientList(
  projectSpent.extend({
    machine: z.string().refine(isMachineName),
    /** Since the hub heard it. Null: before it listened. */
    ageMs: amount.nullable(),
  }),
  MAX_PROJECTS,
)
export type ToldSpending = z.infer<typeof toldSpending>

/** One entry for each project, also with several clones of it, and with amounts that every machine takes. */
export function summedSpending(spent: readonly ProjectSpent[]): ProjectSpent[] {
  const sums = new Map<string, ProjectSpent>()
  for (const one of spent) {
    const sum = sums.get(one.key) ?? NOTHING
    sums.set(one.key, { key: one.key, ...combined(sum, one, (a, b) => bounded(a + b)) })
  }
  return [...sums.values()]
}

/** Sums never fall: of two, the lower one is older. */
export function largestSpending(a: ProjectSpent, b: ProjectSpent): ProjectSpent {
  return { key: b.key, ...combined(a, b, Math.max) }
}

export function isSameSpending(a: Amounts, b: Amounts): boolean {
  return NAMES.every(name => a[name] === b[name])
}

type Amounts = Omit<ProjectSpent, 'key'>

const NAMES = ['usd', 'tokens', 'unpricedTokens', 'ms', 'turns'] as const
export const NOTHING: Amounts = { usd: 0, tokens: 0, unpricedTokens: 0, ms: 0, turns: 0 }

function combined(a: Amounts, b: Amounts, combine: (a: number, b: number) => number): Amounts {
  return {
    usd: a.usd === null && b.usd === null ? null : combine(a.usd ?? 0, b.usd ?? 0),
    tokens: combine(a.tokens, b.tokens),
    unpricedTokens: combine(a.unpricedTokens, b.unpricedTokens),
    ms: combine(a.ms, b.ms),
    turns: combine(a.turns, b.turns),
  }
}

/** A budget file can hold any number; a larger one would be refused by the others, or be written as null. */
function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
