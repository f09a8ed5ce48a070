import { defineStateFile } from './state-file.ts'

/** `state/claude-session.json`: the native session that each kind of work used last, and when. */
export interface ClaudeSessionState {
  [role: `${string}_session_id`]: string | null
  updated_at: string | null
}

export const claudeSessionFile = defineStateFile<ClaudeSessionState>({
  name: 'claude-session.json',
  initial: () => ({ updated_at: null }),
  parse: ({ updated_at, ...others }) => {
    if (typeof updated_at !== 'string' && updated_at !== null) return undefined
    const roles = Object.entries(others).filter(
      ([name, value]) => name.endsWith('_session_id') && (typeof value === 'string' || value === null),
    )
    return { ...Object.fromEntries(roles), updated_at }
  },
})

/** Notes which native session a role used: `planner`, `coder` … */
export function noteClaudeSession(projectRoot: string, role: string, nativeSessionId: string | null) {
  return claudeSessionFile.update(projectRoot, state => ({
    ...state,
    [`${role}_session_id`]: nativeSessionId,
    updated_at: new Date().toISOString(),
  }))
}

/** `state/budget.json`: what the project has spent, and what it may. null is no limit. */
export interface BudgetState {
  total_cost_usd: number
  max_cost_usd: number | null
  iterations: number
  max_iterations: number | null
  /** The last turns that are in the sums, so that none is counted twice. */
  counted_turns?: string[]
}

export const budgetFile = defineStateFile<BudgetState>({
  name: 'budget.json',
  initial: () => ({ total_cost_usd: 0, max_cost_usd: null, iterations: 0, max_iterations: null }),
  parse: ({ total_cost_usd, max_cost_usd = null, iterations = 0, max_iterations = null, counted_turns }) => {
    if (!isAmount(total_cost_usd) || !isAmount(iterations)) return undefined
    if (max_cost_usd !== null && !isAmount(max_cost_usd)) return undefined
    if (max_iterations !== null && !isAmount(max_iterations)) return undefined
    const turns = Array.isArray(counted_turns) ? counted_turns.filter(id => typeof id === 'string') : []
    const counted = turns.length > 0 ? { counted_turns: turns } : {}
    return { total_cost_usd, max_cost_usd, iterations, max_iterations, ...counted }
  },
})

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
