import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { numberLines } from './number-lines.ts'

const number = (stated: number[], options: Partial<Parameters<typeof numberLines>[1]> = {}) =>
  numberLines(stated, { lastSeq: 0, maxSeq: Number.MAX_SAFE_INTEGER, countUnreadable: true, ...options })

describe('lines keep their number', () => {
  test.each([
    ['in order', [1, 2, 3, 4], [1, 2, 3, 4]],
    ['across a gap', [1, 2, 3, 7, 8, 9], [1, 2, 3, 7, 8, 9]],
    ['around an unreadable one', [1, 2, 3, 0, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]],
    ['around two that became one', [1, 2, 3, 0, 6, 7, 8], [1, 2, 3, 4, 6, 7, 8]],
    ['around one that became two', [1, 2, 3, 0, 0, 5, 6, 7], [1, 2, 3, 4, 0, 5, 6, 7]],
  ])('%s', (_, stated, expected) => {
    expect(number(stated)).toEqual(expected)
  })
})

describe('a line with a wrong number gets the one of its place', () => {
  test.each([
    ['far ahead', [1, 2, 3, 900, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]],
    ['far behind', [1, 2, 3, 1, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]],
    ['that of the next', [1, 2, 3, 5, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]],
    ['at the beginning', [9, 2, 3, 4, 5], [1, 2, 3, 4, 5]],
    ['at the end', [1, 2, 3, 4, 2], [1, 2, 3, 4, 5]],
    [
      'that agrees with those before it',
      [1, 2, 3, 4, 5, 6, 0, 0, 9, 9, 10, 11, 12],
      [1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 10, 11, 12],
    ],
    ['two in a row', [1, 2, 3, 80, 90, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8]],
  ])('%s', (_, stated, expected) => {
    expect(number(stated)).toEqual(expected)
  })
})

test('lines beyond the last number are not ours', () => {
  expect(number([1, 2, 3, 4, 5], { maxSeq: 3 })).toEqual([1, 2, 3, 0, 0])
})

test('unreadable lines take no number when their number is known to be lost', () => {
  expect(number([1, 2, 3, 0, 5, 6, 7], { countUnreadable: false })).toEqual([1, 2, 3, 0, 5, 6, 7])
})

test('a number that no log could have reached is not believed', () => {
  expect(number([1, 2, 3, 9_000_000_000_000])).toEqual([1, 2, 3, 4])
})

test('for any stated numbers, the assigned ones increase, stay in bounds, and readable lines come first', () => {
  const stated = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 })), { maxLength: 60 })
  fc.assert(
    fc.property(stated, fc.integer({ min: 0, max: 20 }), (lines, lastSeq) => {
      const numbers = number(lines, { lastSeq, maxSeq: 1000 })
      const given = numbers.filter(n => n > 0)
      expect(numbers).toHaveLength(lines.length)
      expect(given.every((n, i) => n > (given[i - 1] ?? lastSeq) && n <= 1000)).toBe(true)
    }),
  )
})
