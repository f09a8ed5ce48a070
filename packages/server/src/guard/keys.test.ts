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

test('a link signs in once', () => {
  const keys = new Keys()
  const secret = keys.newSignInSecret()
  expect(keys.signIn(`${secret}x`)).toBeUndefined()
  expect(keys.signIn(keys.token)).toBeUndefined()
  expect(keys.signIn(secret)).toBe(keys.token)
  expect(keys.signIn(secret)).toBeUndefined()
})

test('of many links only the last ones count', () => {
  const keys = new Keys()
  const secrets = Array.from({ length: 17 }, () => keys.newSignInSecret())
  expect(keys.signIn(secrets[0] ?? '')).toBeUndefined()
  expect(keys.signIn(secrets[1] ?? '')).toBe(keys.token)
  expect(keys.signIn(secrets[16] ?? '')).toBe(keys.token)
})
