import { Agent } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { BrowserWithKey } from './support/browser-with-key.ts'
import { type EveryCall, everyCall, procedures } from './support/every-call.ts'
import { pipeline } from './support/pipeline.ts'
import { rawRequest, UPGRADE } from './support/raw-request.ts'
import { foreignHosts, foreignOrigins, wrongTokens } from './support/strangers.ts'
import { openTestServer, startTestServer, type TestServer } from './support/test-server.ts'
import { answerTo, bytesOf, everyWay, headersOf, linesOf, type Target } from './support/ways-in.ts'

let server: TestServer
let target: Target
/** Of a browser that was signed out. */
let revoked: string
let agent: Agent

beforeAll(async () => {
  const earlier = await openTestServer()
  await earlier.dispose()
  server = await openTestServer()
  target = { port: server.port, token: server.token, oldToken: earlier.token }
  agent = new Agent({ keepAlive: true })
  const browser = await BrowserWithKey.create(server.url)
  const signedIn = await browser.signIn(new URL(server.link).hash.replace('#sign-in=', ''))
  await server.post('/trpc/system.revokeBrowser', { id: signedIn.browser })
  revoked = signedIn.token
})
afterAll(async () => {
  agent.destroy()
  await server.dispose()
})

/** Headers that get in. */
function good() {
  return { host: `127.0.0.1:${server.port}`, authorization: `Bearer ${server.token}`, origin: server.url }
}

async function ask(call: EveryCall, headers: Record<string, string | undefined>): Promise<string> {
  const body = call.method === 'POST' ? '{}' : undefined
  const type = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': '2' }
  const { status, text } = await rawRequest(
    server.port,
    { ...call, body, headers: { ...type, ...headers } },
    agent,
  )
  const { error } = text.startsWith('{') ? (JSON.parse(text) as { error?: { code?: unknown } }) : {}
  return `${status} ${error?.code ?? ''}`.trim()
}

test('nothing is open but what has to be', () => {
  const open = server.routes
    .filter(({ kind }) => kind !== 'call')
    .map(({ method, path, kind }) => `${method} ${path} ${kind}`)
  expect(open).toEqual([
    ...['GET /healthz page', 'POST /api/sign-in sign-in', 'POST /api/sign-in/challenge sign-in'],
    'POST /api/sign-in/device device',
    'POST /api/mcp program',
  ])
  expect(procedures.length).toBeGreaterThan(40)
})

/**
 * The ways in which a call is asked: all of them for the first call of each kind and method, and for each other call every
 * fourth, another fourth for the next one. With `CHIRALITY_TEST_ALL` all of them for every call, which takes minutes.
 */
function shareOf<T>(ways: readonly T[]): (call: EveryCall) => T[] {
  const seen = new Set<string>()
  let turn = 0
  return ({ kind, method }) => {
    const isFirst = !seen.has(`${kind} ${method}`)
    seen.add(`${kind} ${method}`)
    turn += 1
    return ways.filter((_, i) => isFirst || process.env.CHIRALITY_TEST_ALL || i % 4 === turn % 4)
  }
}

/** What the guard says to nobody who is let in. */
const REFUSED = /^(?:401 token|403 (?:host|origin|cross-site)|415)/

test('of all ways to ask for anything only the exact ones get in', { timeout: 600_000 }, async () => {
  // What a browser says of its page opens nothing that the rest closes: each of these is beside every way.
  const sites = ['', ...['same-origin', 'none'].map(site => linesOf({ 'sec-fetch-site': site }))]
  const all = everyWay(target).map(way => ({ ...way, lines: linesOf(headersOf(way, target)) }))
  const surprises: string[] = []
  const waysOf = shareOf(all)
  let refused = 0
  for (const [turn, call] of everyCall(server.routes).entries()) {
    const note = ({ lines }: { lines: string }, answer: string | undefined) =>
      surprises.push(`${call.method} ${call.path}\n${lines}${answer}`)
    const ways = waysOf(call)
    const expected = ways.map(way => answerTo(call.kind, way, server.port))
    const outside = ways.flatMap((way, i) => (expected[i] === 'in' ? [] : { ...way, answer: expected[i] }))
    const requests = outside.map(({ lines }, i) => bytesOf(call, lines + sites[(turn + i) % sites.length]))
    const answers = await pipeline(server.port, requests)
    refused += answers.length
    for (const [i, way] of outside.entries()) if (answers[i] !== way.answer) note(way, answers[i])
    // Each by itself: what is let in may be a stream.
    const inside = ways.filter((_, i) => expected[i] === 'in')
    const results = await Promise.all(inside.map(way => ask(call, headersOf(way, target))))
    for (const [i, way] of inside.entries()) if (REFUSED.test(results[i] ?? '')) note(way, results[i])
  }
  expect(surprises).toEqual([])
  // Tables that somebody emptied would prove nothing.
  expect(refused).toBeGreaterThan(process.env.CHIRALITY_TEST_ALL ? 100_000 : 25_000)
})

const callsWithToken = () => everyCall(server.routes).filter(({ kind }) => kind === 'call')

test('no other way to write the token is one', async () => {
  const wrong = [...wrongTokens(server.token, target.oldToken), `Bearer ${revoked}`]
  for (const call of callsWithToken()) {
    const requests = wrong.map(authorization => bytesOf(call, linesOf({ ...good(), authorization })))
    expect(await pipeline(server.port, requests), call.path).toEqual(wrong.map(() => '401 token-wrong'))
  }
})

test('no call comes from what a browser calls another site', async () => {
  const sites = ['cross-site', 'same-site', 'same-origin, none', '']
  for (const call of callsWithToken()) {
    const requests = sites.map(site => bytesOf(call, linesOf({ ...good(), 'sec-fetch-site': site })))
    expect(await pipeline(server.port, requests), call.path).toEqual(sites.map(() => '403 cross-site'))
  }
})

test('no call takes what forms can send', async () => {
  const types = ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded']
  for (const call of callsWithToken().filter(({ method }) => method === 'POST'))
    for (const type of types)
      expect(await ask(call, { ...good(), 'content-type': type }), call.path).toBe('415 content-type')
})

describe('sockets', () => {
  const upgrade = (headers: Record<string, string | undefined>, path = '/trpc?connectionParams=1') =>
    rawRequest(server.port, { path, headers: { ...UPGRADE, ...headers } }).then(({ status }) => status)

  test('of all ways to open one only the exact ones do', async () => {
    const ways = everyWay(target)
    const found: string[] = []
    const worker = async () => {
      for (let way = ways.pop(); way !== undefined; way = ways.pop()) {
        const answer = answerTo('socket', way, server.port)
        const status = await upgrade(headersOf(way, target))
        if (status !== (answer === 'in' ? 101 : Number(answer.slice(0, 3))))
          found.push(`${JSON.stringify(way)}: ${status}`)
      }
    }
    await Promise.all(Array.from({ length: 16 }, worker))
    expect(found).toEqual([])
    expect(await upgrade({ ...good(), host: undefined })).toBe(403)
    for (const authorization of [...wrongTokens(server.token, target.oldToken), `Bearer ${revoked}`])
      expect(await upgrade({ ...good(), authorization }), authorization).toBe(401)
    for (const site of ['cross-site', 'same-site'])
      expect(await upgrade({ ...good(), 'sec-fetch-site': site })).toBe(403)
  })

  test.each(['/', '/trpc/', '/trpcx', '/api/harness/turn', '//trpc'])('%s accepts no socket', async path => {
    expect(await upgrade(good(), path)).toBe(404)
  })
})

describe('the cookie of a device', () => {
  const NAME = 'https://agents.example'
  const signInFrom = async (here: TestServer) => {
    const { headers } = await rawRequest(here.port, {
      ...{ method: 'POST', path: '/api/sign-in' },
      headers: { host: 'agents.example', origin: NAME, 'content-type': 'application/json' },
      body: JSON.stringify({ secret: new URL(here.link).hash.replace('#sign-in=', '') }),
    })
    return headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  }

  test('opens one route, for the page that it was given to, and nothing else from anywhere', async () => {
    const here = await startTestServer({ publicOrigins: [NAME] })
    const cookie = await signInFrom(here)
    expect(cookie).toMatch(/^__Secure-chirality-device=/)
    const own = [`127.0.0.1:${here.port}`, `localhost:${here.port}`, 'agents.example']
    const hosts = [...own, ...foreignHosts(here.port), 'agents.example:443', 'agents.example.']
    const pages = [NAME, ...own.slice(0, 2).map(host => `http://${host}`), ...foreignOrigins(here.port)]
    const origins = [undefined, ...pages, 'http://agents.example', 'https://x.agents.example', `${NAME}:8443`]
    const waysOf = shareOf(hosts.flatMap(host => origins.map(origin => ({ host, origin, cookie }))))
    let opened = 0
    for (const call of everyCall(here.routes).filter(({ kind }) => kind === 'call' || kind === 'device')) {
      const ways = waysOf(call)
      const sent = ways.map(({ origin, ...rest }) => ({
        ...rest,
        ...(origin === undefined ? {} : { origin }),
      }))
      const answers = await pipeline(
        here.port,
        sent.map(headers => bytesOf(call, linesOf(headers))),
      )
      const surprises = answers.flatMap((answer, i) => {
        const { host, origin } = ways[i] ?? { host: '', origin: '' }
        const isExact = call.kind === 'device' && own.includes(host) && origin === NAME
        if (isExact) opened += 1
        // A page on plain HTTP of this very server may ask, and the cookie is not of its address.
        const isAsked = call.kind === 'device' && origin === `http://${host}`
        const expected = isExact
          ? /^200$/
          : isAsked
            ? /^(?:401 sign-in|429|403)/
            : /^(?:401 token-missing|403 )/
        return expected.test(answer) ? [] : [`${call.path} ${JSON.stringify(ways[i])}: ${answer}`]
      })
      expect(surprises).toEqual([])
    }
    expect(opened).toBe(3)

    const upgrade = async (headers: Record<string, string>) =>
      (await rawRequest(here.port, { path: '/trpc', headers: { ...UPGRADE, cookie, ...headers } })).status
    expect(await upgrade({ host: 'agents.example' })).toBe(401)
    for (const origin of ['http://agents.example', 'http://evil.example', 'null', `${NAME}:8443`])
      expect(await upgrade({ host: 'agents.example', origin }), origin).toBe(403)
    for (const site of ['cross-site', 'same-site'])
      expect(await upgrade({ host: 'agents.example', origin: NAME, 'sec-fetch-site': site })).toBe(403)
    // It is let in as any page is, and has five seconds to send a token: the cookie is none.
    const socket = new WebSocket(`ws://127.0.0.1:${here.port}/trpc`, {
      headers: { host: 'agents.example', origin: NAME, cookie },
    })
    const answered = new Promise<string>(resolve => socket.once('message', data => resolve(`${data}`)))
    const closed = new Promise<number>(resolve => socket.once('close', resolve))
    socket.once('open', () =>
      socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'system.info', input: null } })),
    )
    expect(await answered).toContain('UNAUTHORIZED')
    expect(await closed).toBe(4401)
  })

  test('is refused from another site, as a form, twice, cut off, and after a sign-out', async () => {
    const here = await startTestServer({ publicOrigins: [NAME] })
    const cookie = await signInFrom(here)
    const ask = async (changes: Record<string, string | string[]> = {}) => {
      const headers = { host: 'agents.example', origin: NAME, 'content-type': 'application/json', cookie }
      const given = {
        ...{ method: 'POST', path: '/api/sign-in/device' },
        headers: { ...headers, ...changes },
      }
      return (await rawRequest(here.port, given)).status
    }
    expect(await ask()).toBe(200)
    for (const site of ['cross-site', 'same-site']) expect(await ask({ 'sec-fetch-site': site })).toBe(403)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect(await ask({ 'content-type': type }), type).toBe(415)
    const [name = '', value = ''] = cookie.split('=')
    const wrong = [
      `${cookie}; ${cookie}`,
      `${name}=`,
      `${name}=${value.slice(0, -1)}`,
      `${cookie}x`,
      `x${cookie}`,
    ]
    for (const given of [
      ...wrong,
      `${name}=${value.slice(0, 17)}${'A'.repeat(43)}`,
      `${name}=../../x.${value.slice(17)}`,
    ])
      expect(await ask({ cookie: given }), given).toBe(401)
    await here.post('/trpc/system.revokeBrowser', { id: value.slice(0, 16) })
    expect(await ask()).toBe(401)
  })
})

test('every answer carries the headers that keep a page in', async () => {
  const paths = [
    '/',
    '/healthz',
    '/api/nothing',
    '/trpc/system.info',
    '/openapi.json',
    '/no/such/page',
    '/assets/x.js',
  ]
  for (const path of paths) {
    const { headers } = await rawRequest(server.port, { path, headers: { host: `127.0.0.1:${server.port}` } })
    expect(headers['content-security-policy'], path).toContain("default-src 'none'")
    expect(headers['content-security-policy'], path).toContain("frame-ancestors 'none'")
    expect(headers['x-content-type-options'], path).toBe('nosniff')
    expect(headers['set-cookie'], path).toBeUndefined()
    expect(headers['access-control-allow-origin'], path).toBeUndefined()
  }
})

test('two headers where there must be one are as wrong as a strange one', async () => {
  const host = `127.0.0.1:${server.port}`
  const { authorization, origin } = good()
  const twice = { host, authorization, origin: [origin, 'http://evil.example'] }
  expect((await rawRequest(server.port, { path: '/trpc/system.info', headers: twice })).status).toBe(403)
})

test('the page may be reached from a link, and not be framed or read', async () => {
  const from = (mode: string, dest: string) => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': dest }
    return rawRequest(server.port, {
      path: '/healthz',
      headers: { host: `127.0.0.1:${server.port}`, ...headers },
    })
  }
  expect((await from('navigate', 'document')).status).toBe(200)
  expect((await from('navigate', 'iframe')).status).toBe(403)
  expect((await from('no-cors', 'script')).status).toBe(403)
})
