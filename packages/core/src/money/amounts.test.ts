import { expect, test } from 'vitest'
import { formatDuration } from './amounts.ts'

test.each([
  [0, '0 ms'],
  [38.4, '38 ms'],
  [999.6, '1.0 s'],
  [4230, '4.2 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [60_000, '1 min'],
  [72_000, '1 min 12 s'],
  [359_700, '6 min'],
  [3_599_700, '1 h'],
  [7_500_000, '2 h 5 min'],
  [7_199_000, '2 h'],
])('%d ms is %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

test('no duration of a day has sixty of a unit', () => {
  const wrong: string[] = []
  for (let ms = 0; ms < 24 * 3_600_000; ms += 499) {
    const text = formatDuration(ms)
    if (/\b60 |^1000 /.test(text)) wrong.push(text)
  }
  expect(wrong).toEqual([])
})
