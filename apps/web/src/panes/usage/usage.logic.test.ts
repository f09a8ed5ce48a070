import { expect, test } from 'vitest'
import { aStatus } from '../../../test/support/statuses.ts'
import { spendBy, spendOfAll, usageCsv } from './usage.logic.ts'

const sessions = [
  aStatus({ sessionId: 'a', projectRoot: '/code/one', costUsd: 1, tokens: 10, harness: 'claude-code' }),
  aStatus({ sessionId: 'b', projectRoot: '/code/two', costUsd: 3, tokens: 5, costIsEstimate: true }),
  aStatus({ sessionId: 'c', projectRoot: '/code/one', costUsd: null, tokens: 90, harness: 'codex' }),
]

test('the dearest comes first, and a session without a price is counted, not taken for free', () => {
  expect(spendBy(sessions, 'project', String)).toEqual([
    { name: 'two', usd: 3, isEstimate: true, unpriced: 0, tokens: 5, sessions: 1 },
    { name: 'one', usd: 1, isEstimate: false, unpriced: 1, tokens: 100, sessions: 2 },
  ])
  expect(spendBy(sessions, 'agent', id => id.toUpperCase()).map(({ name }) => name)).toEqual([
    'CLAUDE-CODE',
    'CODEX',
  ])
  expect(spendOfAll(sessions)).toMatchObject({ usd: 4, tokens: 105, sessions: 3, unpriced: 1 })
  expect(spendOfAll([])).toMatchObject({ usd: 0, sessions: 0 })
})

test('a title that a spreadsheet would run or split is text in one cell', () => {
  const csv = usageCsv([aStatus({ sessionId: 'x', title: '=HYPERLINK("http://evil","a")', costUsd: 1 })])
  expect(csv.split('\n')[1]).toContain(`x,"'=HYPERLINK(""http://evil"",""a"")",`)
})
