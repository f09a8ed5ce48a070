/** `state/budget.json`: what the project has spent, and what it may. null is no limit. */
export interface BudgetState {
  total_cost_usd: number
  max_cost_usd: number | null
  iterations: number
  max_iterations: number | null
  total_tokens: number
  max_tokens: number | null
  /** Tokens of models without a price, which are not in `total_cost_usd`. */
  unpriced_tokens: number
  /** The last turns that are in the sums, so that none is counted twice. */
  counted_turns?: string[]
}

export function initialBudget(): BudgetState {
  return {
    ...{ total_cost_usd: 0, max_cost_usd: null, iterations: 0, max_iterations: null },
    ...{ total_tokens: 0, max_tokens: null, unpriced_tokens: 0 },
  }
}

/** Undefined when it is none. What files of an earlier version do not have is as in a new one. */
export function parseBudget(value: Record<string, unknown>): BudgetState | undefined {
  const { counted_turns, ...rest } = value
  const fields = { ...initialBudget(), ...rest }
  const { total_cost_usd, iterations, total_tokens, unpriced_tokens } = fields
  const { max_cost_usd, max_iterations, max_tokens } = fields
  if (!isAmount(rest.total_cost_usd)) return undefined
  if (![total_cost_usd, iterations, total_tokens, unpriced_tokens].every(isAmount)) return undefined
  if (![max_cost_usd, max_iterations, max_tokens].every(isLimit)) return undefined
  const turns = Array.isArray(counted_turns) ? counted_turns.filter(id => typeof id === 'string') : []
  return {
    ...{
      total_cost_usd,
      max_cost_usd,
      iterations,
      max_iterations,
      total_tokens,
      max_tokens,
      unpriced_tokens,
    },
    ...(turns.length > 0 ? { counted_turns: turns } : {}),
  }
}

/** Of sums the highest, of limits the lowest. */
export function mergeBudgets(states: readonly BudgetState[]): BudgetState {
  const highest = (name: 'total_cost_usd' | 'iterations' | 'total_tokens' | 'unpriced_tokens') =>
    Math.max(...states.map(state => state[name]))
  const lowest = (name: 'max_cost_usd' | 'max_iterations' | 'max_tokens') => {
    const limits = states.flatMap(state => state[name] ?? [])
    return limits.length > 0 ? Math.min(...limits) : null
  }
  const turns = [...new Set(states.flatMap(({ counted_turns }) => counted_turns ?? []))]
  return {
    total_cost_usd: highest('total_cost_usd'),
    max_cost_usd: lowest('max_cost_usd'),
    iterations: highest('iterations'),
    max_iterations: lowest('max_iterations'),
    total_tokens: highest('total_tokens'),
    max_tokens: lowest('max_tokens'),
    unpriced_tokens: highest('unpriced_tokens'),
    ...(turns.length > 0 ? { counted_turns: turns } : {}),
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isLimit(value: unknown): value is number | null {
  return value === null || isAmount(value)
}
