import { roundUsd } from '@chirality/core'
import type { LoopContext } from './loop-context.ts'
import type { LoopState } from './loop-state.ts'
import { spentOf } from './spent.ts'

/** Writes `budget.json` of the loop in the form of spec 001 §10. */
export function writeBudget({ state, put }: Pick<LoopContext, 'state' | 'put'>): void {
  const { max_iterations = null, budget_usd = null } = state.settings
  const { usd } = spentOf(state)
  const budget = {
    total_cost_usd: roundUsd(usd ?? 0),
    max_cost_usd: budget_usd,
    iterations: state.iterations,
    max_iterations,
  }
  put(`${JSON.stringify(budget, null, 2)}\n`, 'budget.json')
}

/** Writes `progress.md` for people; prompts of later tasks contain the same text. */
export function writeProgress({ state, put }: Pick<LoopContext, 'state' | 'put'>): void {
  put(`${progressText(state)}\n`, 'progress.md')
}

/** One line for each merged task. */
export function progressText(state: LoopState): string {
  const lines = [...state.tasks.values()].flatMap(({ status, task: { title }, commit }) =>
    status === 'merged' ? [`- ${title} (${commit?.slice(0, 10)})`] : [],
  )
  return lines.slice(-MAX_PROGRESS).join('\n')
}

const MAX_PROGRESS = 200
