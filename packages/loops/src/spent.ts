import type { Spending } from './journal.ts'

export function addSpent(one: Spending | undefined, other: Spending): Spending {
  if (one === undefined) return other
  return {
    usd: one.usd === null && other.usd === null ? null : (one.usd ?? 0) + (other.usd ?? 0),
    isEstimate: one.isEstimate || other.isEstimate,
    tokens: one.tokens + other.tokens,
  }
}

/** The sum of all tasks' spending. `usd` is null if no agent reported it. */
export function spentOf(
  state: { tasks: ReadonlyMap<string, SpendingTask> },
  live?: (sessionId: string) => Spending | undefined,
): Spending {
  const sum: Spending = { usd: null, isEstimate: false, tokens: 0 }
  for (const task of state.tasks.values()) {
    const now = (task.status === 'working' ? live?.(task.sessionId) : undefined) ?? task.spent
    const spent = addSpent(task.spentBefore, now)
    if (spent.usd !== null) sum.usd = (sum.usd ?? 0) + spent.usd
    sum.isEstimate ||= spent.isEstimate
    sum.tokens += spent.tokens
  }
  return sum
}

export interface SpendingTask {
  status: string
  sessionId: string
  spent: Spending
  spentBefore?: Spending
}
