import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutBytes, cutChars } from './assemble.ts'

const text = fc.string({ unit: 'binary', maxLength: 40 })

test('a text within the limit is unchanged, a longer one is cut between characters', () => {
  expect(cutChars('añ😀b', 4)).toBe('añ😀')
  expect(cutChars('añ😀b', 3)).toBe('añ')
  expect(cutChars('añ😀b', 5)).toBe('añ😀b')
  expect(cutChars('añ😀b', 0)).toBe('')
  expect(cutChars('añ😀b', -1)).toBe('')
  expect(cutBytes('añ😀b', 8)).toBe('añ😀b')
  expect(cutBytes('añ😀b', 7)).toBe('añ😀')
  expect(cutBytes('añ😀b', 6)).toBe('añ')
  expect(cutBytes('añ😀b', 2)).toBe('a')
  expect(cutBytes('\uFEFFa', 3)).toBe('\uFEFF')
})

test('a cut text is the longest start within the limit', () => {
  fc.assert(
    fc.property(text, fc.nat(60), (whole, max) => {
      const bytes = cutBytes(whole, max)
      const chars = cutChars(whole, max)
      expect(whole.startsWith(bytes) && whole.startsWith(chars)).toBe(true)
      expect(Buffer.byteLength(bytes)).toBeLessThanOrEqual(max)
      expect(chars.length).toBeLessThanOrEqual(max)
      if (bytes !== whole) expect(Buffer.byteLength(bytes) + 4).toBeGreaterThan(max)
      if (chars !== whole) expect(chars.length + 2).toBeGreaterThan(max)
    }),
  )
})
