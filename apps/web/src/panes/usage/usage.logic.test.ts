import { usageCsv } from '@chirality/core'
import { expect, test } from 'vitest'
import { aUsage } from '../../../test/support/statuses.ts'
import { scaleTop, seriesOf, timeText, totalOf } from './usage.logic.ts'

const report = aUsage(7, [
  { time: '2026-11-08', projectRoot: '/code/one', usd: 1, tokens: 10 },
  { time: '2026-11-09', projectRoot: '/code/one', usd: 2, tokens: 5, isEstimate: true },
  { time: '2026-11-09', projectRoot: '/code/two', usd: 4, tokens: 1, harness: 'codex' },
])

test('each series has its values by day, the most expensive first', () => {
  const series = seriesOf(report, 'project', 'cost', String)
  expect(series.map(({ name, usd, isEstimate }) => [name, usd, isEstimate])).toEqual([
    ['two', 4, false],
    ['one', 3, true],
  ])
  expect(series.map(({ values }) => values.slice(-2))).toEqual([
    [0, 4],
    [1, 2],
  ])
  expect(seriesOf(report, 'project', 'tokens', String).map(({ name }) => name)).toEqual(['one', 'two'])
  expect(seriesOf(report, 'agent', 'cost', id => id.toUpperCase())[0]?.name).toBe('CODEX')
  expect(totalOf(report.rows)).toMatchObject({ usd: 7, tokens: 16 })
})

test('more than five are five, and nothing is lost', () => {
  const many = aUsage(
    7,
    Array.from({ length: 9 }, (_, i) => ({ model: `m${i}`, usd: 9 - i, tokens: 1 })),
  )
  const series = seriesOf(many, 'model', 'cost', String)
  expect(series.map(({ name }) => name)).toEqual(['m0', 'm1', 'm2', 'm3', '5 others'])
  expect(series.at(-1)).toMatchObject({ usd: 15, values: [0, 0, 0, 0, 0, 0, 15] })
  expect(totalOf(series).usd).toBe(45)
})

test.each([
  [0, 1],
  [0.003, 0.005],
  [31.8, 50],
  [1_000_000, 1_000_000],
])('the scale for %d ends at %d', (most, top) => {
  expect(scaleTop(most)).toBeCloseTo(top, 9)
})

test('a time is written as people do', () => {
  expect([timeText('2026-11-09'), timeText('2026-11-09', 'long'), timeText('2026-11-09T07')]).toEqual([
    '9 Nov',
    'Monday 9 November',
    '07:00',
  ])
})

test('a name that a spreadsheet would run or split is text in one cell', () => {
  const hostile = aUsage(7, [{ model: '=HYPERLINK("http://evil","a")', usd: 1 }])
  expect(usageCsv(hostile).split('\n')[1]).toContain(`,"'=HYPERLINK(""http://evil"",""a"")",`)
})
