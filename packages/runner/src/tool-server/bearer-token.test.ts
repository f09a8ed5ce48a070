import { expect, test } from 'vitest'
import { createBearerToken } from './bearer-token.ts'

test('a token has 256 bits and never comes twice', () => {
  const tokens = Array.from({ length: 100 }, () => createBearerToken().value)
  expect(new Set(tokens).size).toBe(100)
  expect(tokens.every(token => Buffer.from(token, 'base64url').length === 32)).toBe(true)
})

test('only the whole token matches', () => {
  const token = createBearerToken()
  expect(token.matches(token.value)).toBe(true)
  const wrong = [
    '',
    token.value.slice(1),
    token.value.slice(0, -1),
    `${token.value}A`,
    createBearerToken().value,
  ]
  expect(wrong.filter(candidate => token.matches(candidate))).toEqual([])
})
