import path from 'node:path'
import { replaceFile } from './files.ts'
import type { LoopState } from './loop-state.ts'
import { spentOf } from './spent.ts'

/** `budget.json` of the loop, in the form of spec 001 §10. */
export function writeBudget(state: LoopState, folder: string): void {
  const { max_iterations = null, budget_usd = null } = state.settings
  const { usd } = spentOf(state)
  const budget = {
    total_cost_usd: usd ?? 0,
    max_cost_usd: budget_usd,
    iterations: state.iterations,
    max_iterations,
  }
  replaceFile(path.join(folder, 'budget.json'), `${JSON.stringify(budget, null, 2)}\n`)
}

/** `progress.md`: one line for each task that is proved, for the prompts of those after it. */
export function writeProgress(state: LoopState, folder: string): void {
  const lines = [...state.tasks.values()].flatMap(({ status, task: { title }, commit }) =>
    status === 'merged' ? [`- ${title} (${commit?.slice(0, 10)})`] : [],
  )
  replaceFile(path.join(folder, 'progress.md'), `${lines.slice(-MAX_PROGRESS).join('\n')}\n`)
}

const MAX_PROGRESS = 200
