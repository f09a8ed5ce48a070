import { expect, test } from 'vitest'
import { sessionOf } from './connection.ts'

test('an address names its session, as the router reads it, or none', () => {
  expect(sessionOf('/s/abc')).toBe('abc')
  expect(sessionOf('/s/a%20b/t/turn-1')).toBe('a b')
  for (const path of ['/', '/s/', '/settings/s/abc', '/s/%E0%A4%A']) expect(sessionOf(path)).toBeUndefined()
})
