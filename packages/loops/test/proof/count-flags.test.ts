import { expect, test } from 'vitest'
import { flagsOfCounts } from '../../src/proof/count-flags.ts'
import type { CheckCount } from '../../src/proof/verdict.ts'

const run = (failed: number): CheckCount => ({
  counted: {
    ...{ runner: 'mocha', failing: failed > 0 ? ['adds'] : [] },
    counts: {
      ...{ tests: 3, passed: 3 - failed, failed, skipped: 0, todo: 0, failingByDesign: 0 },
      ...{ assertions: null, files: null },
    },
  },
})
const flags = (failed: number, passes: boolean) =>
  flagsOfCounts([], [run(failed)], {
    ...{ checks: ['npm test'], hasChangedTests: false, passed: () => passes },
  }).map(({ words }) => words)

test('a check that passes although its runner says that tests fail is named', () => {
  expect(flags(1, true)).toEqual(['`npm test` passes although 1 of its tests fail (adds).'])
})

test('a check that fails with failing tests, and one without any, is not', () => {
  expect(flags(1, false)).toEqual([])
  expect(flags(0, true)).toEqual([])
})
