import { expect, test } from 'vitest'
import { addSpent, burnPerMinute, type Spent } from './fleet-store.ts'

const MINUTE = 60_000
const collect = (points: [minute: number, usd: number][]) =>
  points.reduce<readonly Spent[]>((all, [minute, usd]) => addSpent(all, { at: minute * MINUTE, usd }), [])

test('what was spent over the minutes it took', () => {
  expect(
    burnPerMinute(
      collect([
        [0, 1],
        [1, 1.1],
        [2, 1.2],
      ]),
      2 * MINUTE,
    ),
  ).toBeCloseTo(0.1)
})

test('nothing is spent by time that passes', () => {
  expect(burnPerMinute(collect([[0, 1]]), 3 * MINUTE)).toBe(0)
  expect(
    burnPerMinute(
      collect([
        [0, 1],
        [1, 2],
      ]),
      30 * MINUTE,
    ),
  ).toBe(0)
})

test('the first seconds do not look like a fortune', () => {
  const samples = [
    { at: 0, usd: 0 },
    { at: 1000, usd: 0.5 },
  ]
  expect(burnPerMinute(samples, 1000)).toBe(0.5)
})

test('only the last minutes are kept', () => {
  const many = collect(Array.from({ length: 100 }, (_, i) => [i, i]))
  expect(many.length).toBeLessThan(10)
})
