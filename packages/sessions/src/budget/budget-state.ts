/** `state/budget.json`: a project's spending and limits. null is no limit. */
export interface BudgetState {
  total_cost_usd: number
  max_cost_usd: number | null
  iterations: number
  max_iterations: number | null
  total_tokens: number
  max_tokens: number | null
  /** Tokens of models without a price, which `total_cost_usd` does not include. */
  unpriced_tokens: number
  /** The duration of all turns, without waiting for the user. */
  total_minutes: number
  max_minutes: number | null
  /** The last turns in the sums, so that none is counted twice. */
  counted_turns?: string[]
}

export function initialBudget(): BudgetState {
  return {
    total_cost_usd: 0,
    max_cost_usd: null,
    iterations: 0,
    max_iterations: null,
    total_tokens: 0,
    max_tokens: null,
    unpriced_tokens: 0,
    total_minutes: 0,
    max_minutes: null,
  }
}

/** Undefined for an invalid file. Fields that an earlier version lacks get the default. */
export function parseBudget(value: Record<string, unknown>): BudgetState | undefined {
  const { counted_turns } = value
  const names = Object.keys(initialBudget()).filter(name => name in value)
  const given = Object.fromEntries(names.map(name => [name, value[name]]))
  const state = { ...initialBudget(), ...given } as BudgetState
  if (!isAmount(value.total_cost_usd)) return undefined
  if (!SUMS.every(name => isAmount(state[name])) || !LIMITS.every(name => isLimit(state[name])))
    return undefined
  const turns = Array.isArray(counted_turns) ? counted_turns.filter(id => typeof id === 'string') : []
  return turns.length > 0 ? { ...state, counted_turns: turns } : state
}

/** The highest sums and the lowest limits. */
export function mergeBudgets(states: readonly BudgetState[]): BudgetState {
  const merged = initialBudget()
  for (const name of SUMS) merged[name] = Math.max(...states.map(state => state[name]))
  for (const name of LIMITS) {
    const limits = states.flatMap(state => state[name] ?? [])
    merged[name] = limits.length > 0 ? Math.min(...limits) : null
  }
  const turns = [...new Set(states.flatMap(({ counted_turns }) => counted_turns ?? []))]
  return turns.length > 0 ? { ...merged, counted_turns: turns } : merged
}

export const MINUTE_MS = 60_000

const SUMS = ['total_cost_usd', 'iterations', 'total_tokens', 'unpriced_tokens', 'total_minutes'] as const
const LIMITS = ['max_cost_usd', 'max_iterations', 'max_tokens', 'max_minutes'] as const

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isLimit(value: unknown): value is number | null {
  return value === null || isAmount(value)
}
