import { describe, expect, test } from 'vitest'
import { createBearerToken, refuse } from './guard.ts'

const EXPECTED = {
  host: '127.0.0.1:4711',
  path: '/mcp',
  isToken: (candidate: string) => candidate === 'right',
}

interface Asked {
  method?: string
  url?: string
  headers?: Record<string, string[]>
}

function statusOf({ method = 'POST', url = '/mcp', headers = {} }: Asked, expected = EXPECTED): number {
  const headersDistinct = { host: ['127.0.0.1:4711'], authorization: ['Bearer right'], ...headers }
  return refuse({ method, url, headersDistinct }, expected)?.status ?? 200
}

test.each(['POST', 'GET', 'DELETE'])('%s with the right Host and token passes', method => {
  expect(statusOf({ method })).toBe(200)
})

describe('the Host', () => {
  test.each([
    [],
    ['127.0.0.1'],
    ['127.0.0.1:4712'],
    ['localhost:4711'],
    ['127.0.0.1:4711.'],
    ['127.0.0.1.:4711'],
    [' 127.0.0.1:4711'],
    ['127.0.0.1:4711,evil.example'],
    ['evil.example:4711'],
    ['127.0.0.1.nip.io:4711'],
    ['127.1:4711'],
    ['[::1]:4711'],
    ['0.0.0.0:4711'],
    [''],
    ['127.0.0.1:4711', 'evil.example'],
  ])('%j is refused', (...host) => {
    expect(statusOf({ headers: { host } })).toBe(403)
  })

  test('a request without a Host header is refused', () => {
    expect(refuse({ method: 'POST', url: '/mcp', headersDistinct: {} }, EXPECTED)?.status).toBe(403)
  })

  test('is looked at even when no token is asked for', () => {
    const open = { ...EXPECTED, isToken: undefined }
    expect(refuse({ method: 'POST', url: '/mcp', headersDistinct: { host: ['evil'] } }, open)?.status).toBe(
      403,
    )
  })
})

test.each(['null', '', 'http://127.0.0.1:4711', 'http://localhost:4711', 'https://evil.example', 'file://'])(
  'the Origin %j is refused: only browsers send one',
  origin => {
    expect(statusOf({ headers: { origin: [origin] } })).toBe(403)
  },
)

test.each([
  '/',
  '/mcp/',
  '/MCP',
  '/mcp?x=1',
  '//mcp',
  '/.well-known/oauth-protected-resource',
  'http://evil/mcp',
  '*',
])('there is nothing at %s', url => {
  expect(statusOf({ url })).toBe(404)
})

test.each(['PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'post'])('%s is not served', method => {
  expect(statusOf({ method })).toBe(404)
})

describe('the token', () => {
  test.each([
    [[]],
    [['']],
    [['Bearer']],
    [['Bearer ']],
    [['Bearer wrong']],
    [['Bearer right wrong']],
    [['Bearer  right']],
    [['Basic right']],
    [['right']],
    [['Bearer right', 'Bearer wrong']],
  ])('%j is refused', authorization => {
    expect(statusOf({ headers: { authorization } })).toBe(401)
  })

  test('the Bearer scheme may be in any case', () => {
    expect(statusOf({ headers: { authorization: ['bearer right'] } })).toBe(200)
  })
})

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
