import { type FileOps, realFileOps } from '@chirality/disk'
import { expect, test } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { BudgetBook } from './budget-book.ts'
import { BudgetLimits } from './budget-limits.ts'
import { requireBudget } from './limits-of-turn.ts'
import { ProjectBudget } from './project-budget.ts'
import type { SpentElsewhere } from './spent-elsewhere.ts'

const project = useProject()

const elsewhere = (machine: string, usd: number, at: string | null): SpentElsewhere => ({
  machine,
  usd,
  at,
  tokens: 1000,
  unpricedTokens: 0,
  ms: 60_000,
  turns: 2,
})

function budgetWith(others: SpentElsewhere[]) {
  const book = new BudgetBook({ home: `${project.root}/data` })
  return { book, budget: new ProjectBudget(project.root, book, async () => () => others) }
}

test('what other machines spent counts towards the budget of the project, and a refusal names them and how old it is', async () => {
  const { book, budget } = budgetWith([
    elsewhere('build-1', 3, new Date().toISOString()),
    elsewhere('build-2', 1.5, new Date(Date.now() - 2 * 3_600_000).toISOString()),
    elsewhere('build-3', 0.5, null),
  ])
  await book.setLimits(project.root, { max_cost_usd: 6 })
  const limits = new BudgetLimits(await budget.begin('t1'))
  expect(limits.leftUsd).toBe(1)
  await budget.count('t1', { usd: 1, tokens: 10, unpricedTokens: 0, ms: 1000 })
  expect(await budget.spent()).toEqual({ usd: 1, tokens: 10, unpricedTokens: 0, ms: 1000, turns: 1 })
  const next = new BudgetLimits(await budget.begin('t2'))
  expect(() => requireBudget(next)).toThrow(
    'The budget of the project is used up: $6.00 of $6.00. This counts other machines: $3.00 on build-1, as it says now; $1.50 on build-2, as it said 2 h ago; $0.5000 on build-3, as it said at an unknown time. Raise it',
  )
  // A turn that runs is told, too, and not twice when it is counted.
  budget.note('t2', { usd: 0.25, tokens: 5, unpricedTokens: 0, ms: 500 })
  expect(await budget.spent()).toMatchObject({ usd: 1.25, turns: 2 })
})

test('turns of other machines count towards the number of turns', async () => {
  const { book, budget } = budgetWith([elsewhere('build-1', 0, new Date().toISOString())])
  await book.setLimits(project.root, { max_iterations: 3 })
  await budget.begin('t1')
  await expect(budget.begin('t2')).rejects.toThrow(
    'had 3 of 3 turns. This counts other machines: 2 turns on build-1, as it says now. Raise max_iterations',
  )
})

test.each([
  [
    { max_tokens: 1000 },
    '3,000 tokens of 1,000 tokens',
    '1,000 tokens on build-1',
    '2,000 tokens on build-2',
  ],
  [{ max_minutes: 1 }, '3 min of 1 min', '1 min on build-1', '2 min on build-2'],
  [{ max_cost_usd: 0.5 }, '$3.00 of $0.5000', '$1.00 on build-1', '$2.00 on build-2'],
])(
  'a refusal says in the unit of its limit what each machine spent that counts: %o',
  async (limit, sum, ...each) => {
    const now = new Date().toISOString()
    const one = { ...elsewhere('build-1', 1, now) }
    const two = { ...elsewhere('build-2', 2, now), tokens: 2000, ms: 120_000, turns: 0 }
    const none = { ...elsewhere('build-3', 0, now), tokens: 0, ms: 0, turns: 1 }
    const { book, budget } = budgetWith([one, two, none])
    await book.setLimits(project.root, limit)
    const limits = new BudgetLimits(await budget.begin('t1'))
    const said = each.map(text => `${text}, as it says now`).join('; ')
    expect(() => requireBudget(limits)).toThrow(
      `is used up: ${sum}. This counts other machines: ${said}. Raise it`,
    )
  },
)

test('without other machines nothing is said of them', async () => {
  const { book, budget } = budgetWith([])
  await book.setLimits(project.root, { max_cost_usd: 0.01 })
  await budget.count('t1', { usd: 1, tokens: 10, unpricedTokens: 0, ms: 1000 })
  const limits = new BudgetLimits(await budget.begin('t2'))
  expect(() => requireBudget(limits)).toThrow(/\$1\.00 of \$0\.0100\. Raise it/)
})

test('a turn whose sum is in one of the two files already is counted once', async () => {
  const isFull = new Error('ENOSPC: no space left on device')
  let fails = true
  const ops: FileOps = {
    ...realFileOps,
    rename: (from, to) => {
      if (fails && to === project.file('state', 'budget.json')) throw isFull
      realFileOps.rename(from, to)
    },
  }
  const budget = new ProjectBudget(project.root, new BudgetBook({ home: `${project.root}/data`, ops }))
  const turn = { usd: 2, tokens: 10, unpricedTokens: 3, ms: 1000 }
  await budget.begin('t1')
  budget.note('t1', turn)
  await expect(budget.count('t1', turn)).rejects.toThrow('ENOSPC')
  budget.owe('t1', turn)
  expect(await budget.spent()).toEqual({ ...turn, turns: 1 })
  await expect(budget.countBetweenTurns('wait', turn)).rejects.toThrow('ENOSPC')
  const both = { usd: 4, tokens: 20, unpricedTokens: 6, ms: 2000, turns: 1 }
  expect(await budget.spent()).toEqual(both)
  fails = false
  await budget.begin('t2')
  budget.forget('t2')
  expect(await budget.spent()).toEqual(both)
})
