import { expect, test } from 'vitest'
import { Keys } from './keys.ts'

test('the token has 256 bits and is new for each start', () => {
  const [one, two] = [new Keys(), new Keys()]
  expect(Buffer.from(one.token, 'base64url')).toHaveLength(32)
  expect(one.token).not.toBe(two.token)
  expect(two.isToken(one.token)).toBe(false)
})

test('only the exact header is worth anything', () => {
  const keys = new Keys()
  const { token } = keys
  expect(keys.judgeHeader(`Bearer ${token}`)).toBe('valid')
  expect(keys.judgeHeader(undefined)).toBe('none')
  const wrong = [
    ...[
      '',
      'Bearer',
      'Bearer ',
      `Bearer  ${token}`,
      `bearer ${token}`,
      `Basic ${token}`,
      token,
      `Bearer ${token} `,
    ],
    ...[
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token}A`,
      `Bearer ${token},${token}`,
      `Bearer ${'a'.repeat(200)}`,
    ],
  ]
  for (const header of wrong) expect(keys.judgeHeader(header), header).toBe('wrong')
})

test('a link is used once, within ten minutes, and the refusal says which it was', () => {
  let now = 0
  const keys = new Keys(() => now)
  const [secret, late] = [keys.newSignInSecret(), keys.newSignInSecret()]
  expect(keys.useLink(`${secret}x`)).toBe('unknown')
  expect(keys.useLink(keys.token)).toBe('unknown')
  now = 10 * 60_000 - 1
  expect(keys.useLink(secret)).toBe('good')
  expect(keys.useLink(secret)).toBe('used')
  now += 1
  expect(keys.useLink(late)).toBe('expired')
})

test('with too many links only the newest are valid', () => {
  const keys = new Keys()
  const secrets = Array.from({ length: 17 }, () => keys.newSignInSecret())
  expect(keys.useLink(secrets[0] ?? '')).toBe('unknown')
  expect(keys.useLink(secrets[1] ?? '')).toBe('good')
  expect(keys.useLink(secrets[16] ?? '')).toBe('good')
})

test('a browser that is revoked loses its tokens and what it has open; others and programs do not', () => {
  const keys = new Keys()
  const [one, again, other] = ['a', 'a', 'b'].map(browser => keys.newBrowserToken(browser))
  const told: string[] = []
  for (const token of [one, again, other, keys.token]) keys.whenRevoked(token, () => told.push(`${token}`))
  keys.whenRevoked(one, () => told.push('gone before'))()
  expect([one, again, other].map(token => keys.judgeHeader(`Bearer ${token}`))).toEqual(
    Array(3).fill('valid'),
  )
  keys.revoke('a')
  expect([one, again, other, keys.token].map(token => keys.isToken(`${token}`))).toEqual([
    ...[false, false, true, true],
  ])
  expect(told).toEqual([one, again])
})

test('a browser has only so many tokens: the oldest go, those of others stay', () => {
  const keys = new Keys()
  const other = keys.newBrowserToken('b')
  const tokens = Array.from({ length: 65 }, () => keys.newBrowserToken('a'))
  expect(tokens.filter(token => !keys.isToken(token))).toEqual([tokens[0]])
  expect(keys.isToken(other)).toBe(true)
})
