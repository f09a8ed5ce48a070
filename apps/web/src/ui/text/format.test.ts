import { expect, test } from 'vitest'
import { formatAge, formatCount, formatUsd, plural } from './format.ts'

test.each([
  [0, '$0.00'],
  [0.0042, '$0.0042'],
  [0.42, '$0.42'],
  [12.345, '$12.35'],
])('%f dollars is %s', (usd, text) => expect(formatUsd(usd)).toBe(text))

test.each([
  [999, '999'],
  [1000, '1k'],
  [1540, '1.5k'],
  [36_400, '36k'],
  [2_000_000, '2M'],
])('%i is %s', (value, text) => expect(formatCount(value)).toBe(text))

test('how long ago', () => {
  const now = Date.parse('2026-01-02T12:00:00Z')
  expect(formatAge('2026-01-02T11:59:40Z', now)).toBe('now')
  expect(formatAge('2026-01-02T11:48:00Z', now)).toBe('12 min ago')
  expect(formatAge('2026-01-02T09:00:00Z', now)).toBe('3 h ago')
  expect(formatAge('2025-12-31T12:00:00Z', now)).toBe('2 d ago')
  expect(formatAge('no date', now)).toBe('now')
})

test('one and many', () => {
  expect([plural(1, 'file'), plural(0, 'file'), plural(2, 'match', 'matches')]).toEqual([
    '1 file',
    '0 files',
    '2 matches',
  ])
})
