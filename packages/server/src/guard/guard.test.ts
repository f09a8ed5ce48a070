import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foreignHosts, foreignOrigins } from '../../test/support/strangers.ts'
import { type GuardReason, guard, type RequestFacts, type RouteKind } from './guard.ts'
import { parseOrigin, placeOf } from './places.ts'

const PORT = 4096
const place = placeOf({ port: PORT })
const HERE = `http://127.0.0.1:${PORT}`

/** A request that is accepted; each test changes one thing about it. */
function facts(changes: Partial<RequestFacts> = {}): RequestFacts {
  return {
    headersComplete: true,
    method: 'GET',
    kind: 'call',
    host: `127.0.0.1:${PORT}`,
    origin: undefined,
    fetchSite: undefined,
    fetchMode: undefined,
    fetchDest: undefined,
    contentType: undefined,
    hasBody: false,
    token: 'valid',
    ...changes,
  }
}

function judge(changes: Partial<RequestFacts>): 'in' | `${number} ${GuardReason}` {
  const verdict = guard(facts(changes), place)
  return verdict.allow ? 'in' : `${verdict.status} ${verdict.reason}`
}

const KINDS: RouteKind[] = ['page', 'sign-in', 'device', 'call', 'socket', 'program']
const METHOD: Record<RouteKind, string> = {
  page: 'GET',
  'sign-in': 'POST',
  device: 'POST',
  call: 'GET',
  socket: 'GET',
  program: 'POST',
}

describe('the name of the server', () => {
  test.each([`127.0.0.1:${PORT}`, `localhost:${PORT}`, `[::1]:${PORT}`])(
    "%s is accepted as the server's name",
    host => {
      expect(judge({ host })).toBe('in')
    },
  )

  test.each([
    ...[
      'evil.example',
      `evil.example:${PORT}`,
      `localhost.:${PORT}`,
      `LOCALHOST:${PORT}`,
      'localhost',
      '127.0.0.1',
    ],
    ...[`127.0.0.1:${PORT + 1}`, `127.0.0.1:${PORT}0`, `0.0.0.0:${PORT}`, `[::]:${PORT}`, `::1:${PORT}`],
    ...[
      `127.0.0.1.nip.io:${PORT}`,
      `localhost:${PORT}@evil.example`,
      ` localhost:${PORT}`,
      `localhost:${PORT} `,
    ],
    ...[`localhost:${PORT},evil.example`, `evil.example, localhost:${PORT}`, `127.1:${PORT}`, '', undefined],
  ])('%j is not, for no kind of route', host => {
    for (const kind of KINDS) expect(judge({ host, kind, method: METHOD[kind] })).toBe('403 host')
  })

  test('a default port is left out, as browsers do', () => {
    expect([...placeOf({ port: 80 }).hosts]).toEqual(['127.0.0.1', 'localhost', '[::1]'])
    expect([...placeOf({ port: 443, tls: true }).origins.keys()]).toContain('https://localhost')
  })

  test("a configured proxy's name is accepted", () => {
    const proxied = placeOf({ port: PORT, publicOrigins: ['https://agents.example'] })
    const verdict = guard(facts({ host: 'agents.example', origin: 'https://agents.example' }), proxied)
    expect(verdict).toEqual({ allow: true })
    // It may use the server's own name.
    expect(guard(facts({ origin: 'https://agents.example' }), proxied)).toEqual({ allow: true })
  })

  test.each([
    'agents.example',
    'https://agents.example/x',
    'ftp://a.example',
    'https://u@a.example',
    '*',
    '',
  ])('%j is no origin', origin => expect(parseOrigin(origin)).toBeUndefined())
})

describe('the page that asks', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]'])('of %s may, under that name only', name => {
    for (const host of place.hosts) {
      const own = host === `${name}:${PORT}`
      expect(judge({ origin: `http://${name}:${PORT}`, host })).toBe(own ? 'in' : '403 origin')
      expect(judge({ origin: undefined, host })).toBe('in')
    }
  })

  test.each([
    ...[
      'null',
      '',
      'http://evil.example',
      `https://127.0.0.1:${PORT}`,
      'http://127.0.0.1',
      'http://localhost',
    ],
    ...[`http://127.0.0.1:${PORT + 1}`, `http://localhost:${PORT}0`, `http://localhost:${PORT}.evil.example`],
    ...[`http://localhost.:${PORT}`, `http://127.0.0.1.nip.io:${PORT}`, `http://evillocalhost:${PORT}`],
    ...[
      `http://localhost:${PORT}/`,
      `HTTP://LOCALHOST:${PORT}`,
      `http://localhost:${PORT}, http://evil.example`,
    ],
    ...['file://', 'chrome-extension://abcdef', `http://user@localhost:${PORT}`, `http://0.0.0.0:${PORT}`],
  ])('%j may not, for no kind of route', origin => {
    for (const kind of KINDS) expect(judge({ origin, kind, method: METHOD[kind] })).toBe('403 origin')
  })

  test('an origin that is not listed is refused', () => {
    const parts = fc.constantFrom(
      'http',
      'https',
      '://',
      'localhost',
      '127.0.0.1',
      '[::1]',
      ':',
      '4096',
      '.',
      '@',
      'evil',
      '/',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 9 }), words => {
        const origin = words.join('')
        expect(judge({ origin }) === 'in').toBe(origin === HERE)
      }),
      { numRuns: 20_000 },
    )
  })

  test.each([
    ['same-origin', 'in'],
    ['none', 'in'],
    [undefined, 'in'],
    ['same-site', '403 cross-site'],
    ['cross-site', '403 cross-site'],
    ['same-origin, none', '403 cross-site'],
    ['', '403 cross-site'],
  ] as const)('a request that the browser calls %j is %s', (fetchSite, verdict) => {
    expect(judge({ fetchSite })).toBe(verdict)
    expect(judge({ fetchSite, kind: 'socket' })).toBe(verdict)
  })

  test.each([
    ['page', 'navigate', 'document', 'in'],
    ['page', 'navigate', 'iframe', '403 cross-site'],
    ['page', 'no-cors', 'script', '403 cross-site'],
    ['page', 'cors', 'empty', '403 cross-site'],
    // The request of a service worker that forwards a navigation, of a frame as well as of a tab.
    ['page', 'navigate', 'empty', '403 cross-site'],
    ['page', 'same-origin', 'serviceworker', '403 cross-site'],
    ['call', 'navigate', 'document', '403 cross-site'],
    ['socket', 'websocket', 'websocket', '403 cross-site'],
  ] as const)('from elsewhere a %s (%s, %s) is %s', (kind, fetchMode, fetchDest, verdict) => {
    expect(judge({ kind, fetchMode, fetchDest, fetchSite: 'cross-site' })).toBe(verdict)
  })

  test.each([
    ['script of the worker', 'page', 'same-origin', 'serviceworker', 'in'],
    ['page that the worker asks for', 'page', 'cors', 'empty', 'in'],
    ['call that the worker has no token for', 'call', 'cors', 'empty', '401 token-missing'],
  ] as const)("the dashboard's own service worker: %s", (_what, kind, fetchMode, fetchDest, verdict) => {
    expect(judge({ kind, fetchMode, fetchDest, fetchSite: 'same-origin', token: 'none' })).toBe(verdict)
  })
})

test.each([
  [
    'page',
    { page: 'in', 'sign-in': '405 method', device: '405 method', call: 'in', socket: 'in', program: 'in' },
    'GET',
  ],
  [
    'HEAD',
    {
      page: 'in',
      'sign-in': '405 method',
      device: '405 method',
      call: '405 method',
      socket: '405 method',
      program: '405 method',
    },
    'HEAD',
  ],
  [
    'POST',
    {
      page: '405 method',
      'sign-in': 'in',
      device: '403 origin',
      call: 'in',
      socket: '405 method',
      program: 'in',
    },
    'POST',
  ],
  [
    'DELETE',
    {
      page: '405 method',
      'sign-in': '405 method',
      device: '405 method',
      call: 'in',
      socket: '405 method',
      program: 'in',
    },
    'DELETE',
  ],
  [
    'OPTIONS',
    {
      page: '405 method',
      'sign-in': '405 method',
      device: '405 method',
      call: '405 method',
      socket: '405 method',
      program: '405 method',
    },
    'OPTIONS',
  ],
  [
    'TRACE',
    {
      page: '405 method',
      'sign-in': '405 method',
      device: '405 method',
      call: '405 method',
      socket: '405 method',
      program: '405 method',
    },
    'TRACE',
  ],
] as const)('%s', (_name, verdicts, method) => {
  for (const kind of KINDS)
    expect(judge({ kind, method, contentType: 'application/json' })).toBe(verdicts[kind])
})

test('only the exact combinations of kind, host, origin and token are accepted', () => {
  const hosts = [...place.hosts, ...foreignHosts(PORT), undefined]
  const origins = [...place.origins.keys(), ...foreignOrigins(PORT), undefined]
  const tokens = ['valid', 'wrong', 'none'] as const
  const letIn = KINDS.flatMap(kind =>
    hosts.flatMap(host =>
      origins.flatMap(origin =>
        tokens.flatMap(token => {
          const asked = { kind, host, origin, token, method: METHOD[kind], contentType: 'application/json' }
          return judge(asked) === 'in' ? [`${kind} ${host} ${origin ?? 'none'} ${token}`] : []
        }),
      ),
    ),
  )
  const exact = [...place.hosts].flatMap(host => {
    const own = `http://${host}`
    return [
      ...[own, 'none'].flatMap(origin => tokens.map(token => `page ${host} ${origin} ${token}`)),
      ...[own, 'none'].flatMap(origin => tokens.map(token => `sign-in ${host} ${origin} ${token}`)),
      ...tokens.map(token => `device ${host} ${own} ${token}`),
      ...[own, 'none'].map(origin => `call ${host} ${origin} valid`),
      ...[`${own} valid`, `${own} none`, 'none valid'].map(rest => `socket ${host} ${rest}`),
      `program ${host} none valid`,
    ]
  })
  expect(letIn.sort()).toEqual(exact.sort())
})

test('headers that may hide others are refused, for every kind of route', () => {
  for (const kind of KINDS)
    expect(judge({ kind, method: METHOD[kind], headersComplete: false })).toBe('431 headers')
})

describe('the token', () => {
  test.each([
    ['call', undefined, 'valid', 'in'],
    ['call', undefined, 'none', '401 token-missing'],
    ['call', undefined, 'wrong', '401 token-wrong'],
    ['call', HERE, 'none', '401 token-missing'],
    ['call', HERE, 'wrong', '401 token-wrong'],
    // A browser cannot set headers of a socket: it has five seconds to send the token.
    ['socket', HERE, 'none', 'in'],
    ['socket', HERE, 'wrong', '401 token-wrong'],
    ['socket', HERE, 'valid', 'in'],
    ['socket', undefined, 'valid', 'in'],
    ['socket', undefined, 'none', '401 token-missing'],
    ['socket', undefined, 'wrong', '401 token-wrong'],
    ['page', undefined, 'none', 'in'],
    ['page', undefined, 'wrong', 'in'],
  ] as const)('%s from %s with a token that is %s: %s', (kind, origin, token, verdict) => {
    expect(judge({ kind, origin, token })).toBe(verdict)
  })
})

describe('what forms can send', () => {
  test.each([
    ['application/json', 'in'],
    ['application/json; charset=utf-8', 'in'],
    ['application/json;charset=UTF-8', 'in'],
    ['text/plain', '415 content-type'],
    ['multipart/form-data; boundary=x', '415 content-type'],
    ['application/x-www-form-urlencoded', '415 content-type'],
    ['application/json, text/plain', '415 content-type'],
    ['application/json; charset=utf-7', '415 content-type'],
    ['application/octet-stream', '415 content-type'],
    ['', '415 content-type'],
    [undefined, '415 content-type'],
  ] as const)('a body of %j is %s', (contentType, verdict) => {
    expect(judge({ contentType, method: 'POST', hasBody: true })).toBe(verdict)
    expect(judge({ contentType, method: 'POST', kind: 'sign-in', token: 'none' })).toBe(verdict)
  })

  test('a call without a body needs no type', () => {
    expect(judge({ method: 'POST', contentType: 'text/plain' })).toBe('in')
  })
})
