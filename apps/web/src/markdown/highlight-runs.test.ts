import { expect, test } from 'vitest'
import { highlightRuns } from './highlight-runs.ts'

test('the runs add up to the code', () => {
  const code = 'const a: string = `xy` // <b>done</b>\nexport { a }\n'
  const runs = highlightRuns(code, 'ts') ?? []
  expect(runs.map(([text]) => text).join('')).toBe(code)
  expect(runs).toContainEqual(['const', 'keyword'])
  expect(runs).toContainEqual(['// <b>done</b>', 'comment'])
})

test('an unknown language has no colours', () => {
  expect(highlightRuns('x', 'klingon')).toBeNull()
})
