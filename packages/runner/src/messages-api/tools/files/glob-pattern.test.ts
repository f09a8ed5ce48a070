import { expect, test } from 'vitest'
import { globMatcher } from './glob-pattern.ts'

test.each<[string, string, boolean]>([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'src/a.ts', false],
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', 'src/deep/a.ts', true],
  ['src/**', 'src/a/b', true],
  ['src/**/test/*.ts', 'src/test/a.ts', true],
  ['src/**/test/*.ts', 'src/a/b/test/a.ts', true],
  ['src/**/test/*.ts', 'src/a/b/tests/a.ts', false],
  ['**', 'anything/at/all', true],
  ['./a.ts', 'a.ts', true],
  ['a?.ts', 'ab.ts', true],
  ['a?.ts', 'a/.ts', false],
  ['[a-c].ts', 'b.ts', true],
  ['[!a-c].ts', 'b.ts', false],
  ['[.ts', '[.ts', true],
  ['{a,b}.{ts,js}', 'b.js', true],
  ['{a,b}.{ts,js}', 'c.js', false],
  ['a.ts', 'a-ts', false],
  ['*', '.hidden', true],
  ['ä*', 'ä€😀', true],
])('%s for %s: %s', (pattern, path, expected) => {
  expect(globMatcher(pattern)(path)).toBe(expected)
})

test('no pattern is slow', () => {
  const matches = globMatcher(`${'*a'.repeat(300)}b`)
  expect(matches('a'.repeat(20_000))).toBe(false)
  expect(globMatcher(`${'**/a/'.repeat(150)}b`)('a/'.repeat(2000))).toBe(false)
})

test('patterns that would become thousands are refused', () => {
  expect(() => globMatcher('{a,b}'.repeat(20))).toThrow('too many alternatives')
  expect(() => globMatcher('a'.repeat(2000))).toThrow('too long')
})
