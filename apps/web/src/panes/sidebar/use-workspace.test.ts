import { expect, test } from 'vitest'
import { worktreeWords } from './use-workspace.ts'

const PLAN = {
  ...{ can: true as const, branch: 'main', branches: ['main'], commit: 'a'.repeat(40) },
  ...{ othersAtWork: 0, hasLfsPointers: false },
}

test.each([
  [0, ''],
  [1, ' 1 uncommitted file of yours is not in it.'],
  [2, ' 2 uncommitted files of yours are not in it.'],
])('%i uncommitted files are counted in whole words', (uncommitted, words) => {
  expect(worktreeWords({ ...PLAN, uncommitted } as Parameters<typeof worktreeWords>[0])).toBe(
    `A folder and a branch of its own, from main.${words}`,
  )
})
