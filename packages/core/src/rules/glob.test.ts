import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anywhere, escapeGlob, globMatches, literalOf, parseGlob } from './glob.ts'

test.each([
  ['git status*', 'git status', true],
  ['git status*', 'git status -s', true],
  ['git status*', 'git stash', false],
  ['*', '', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'a-c-b-c', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['', '', true],
  ['', 'x', false],
  ['\\*', '*', true],
  ['\\*', 'x', false],
  ['a\\.b', 'a\\.b', true],
  ['a\\\\*', 'a\\x', true],
  ['a\\nb', 'a\nb', true],
  ['a.b', 'axb', false],
  ['[ab]', 'a', false],
  ['a?', 'ab', false],
])('%j and %j: %s', (pattern, text, matches) => {
  expect(globMatches(parseGlob(pattern), text)).toBe(matches)
})

test('agrees with a regular expression', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'A'), maxLength: 8 })
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 })
  fc.assert(
    fc.property(pattern, text, fc.boolean(), (glob, value, ignoreCase) => {
      const oracle = new RegExp(`^${glob.replaceAll('*', '.*')}$`, ignoreCase ? 'i' : '')
      expect(globMatches(parseGlob(glob), value, { ignoreCase })).toBe(oracle.test(value))
      expect(globMatches(anywhere(parseGlob(glob)), value)).toBe(
        new RegExp(glob.replaceAll('*', '.*')).test(value),
      )
    }),
  )
})

test('a text that is escaped is matched by itself alone', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'n', '*', '\\', '\n', ' '), maxLength: 8 })
  fc.assert(
    fc.property(text, text, (own, other) => {
      const glob = parseGlob(escapeGlob(own))
      expect(literalOf(glob)).toBe(own)
      expect(globMatches(glob, other)).toBe(own === other)
    }),
  )
})

test('a hostile pattern is matched in linear time', () => {
  expect(globMatches(parseGlob('*a'.repeat(2000)), `${'a'.repeat(1_000_000)}b`)).toBe(false)
})
