import { Agent } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Keys } from '../src/guard/keys.ts'
import { appRouter } from '../src/trpc/router.ts'
import { type RawRequest, rawRequest, UPGRADE } from './support/raw-request.ts'
import { foreignHosts, foreignOrigins, wrongTokens } from './support/strangers.ts'
import { openTestServer, type TestServer } from './support/test-server.ts'

interface Procedure {
  _def: { type: 'query' | 'mutation' | 'subscription' }
}

const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, Procedure>)

/** Everything that can be asked for, one request each. */
function allCalls(): (RawRequest & { name: string })[] {
  const routes = server.routes.filter(({ path, kind }) => kind === 'call' && !path.endsWith('*'))
  return [
    ...routes.map(({ method, path }) => ({ method, path: path.replace(':id', 'no-such-session') })),
    ...procedures.flatMap(([name, { _def }]) =>
      _def.type === 'mutation'
        ? [{ method: 'POST', path: `/trpc/${name}` }]
        : [
            { method: 'GET', path: `/trpc/${name}` },
            { method: 'POST', path: `/trpc/${name}` },
          ],
    ),
    ...['/api', '/api/nothing', '/trpc', '/trpc/nothing'].map(path => ({ method: 'GET', path })),
  ].map(call => ({ ...call, name: `${call.method} ${call.path}` }))
}

let server: TestServer
let agent: Agent

beforeAll(async () => {
  server = await openTestServer()
  agent = new Agent({ keepAlive: true })
})
afterAll(async () => {
  agent.destroy()
  await server.dispose()
})

/** Headers that get in. */
function good(): Record<string, string | undefined> {
  return { host: `127.0.0.1:${server.port}`, authorization: `Bearer ${server.token}`, origin: server.url }
}

async function ask(call: RawRequest, headers: Record<string, string | undefined>): Promise<string> {
  const body = call.method === 'GET' ? undefined : '{}'
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
  expect(open).toEqual(['GET /healthz page', 'POST /api/sign-in sign-in'])
  expect(procedures.length).toBeGreaterThan(40)
})

/** Every call with every one of these headers; what does not answer as it must. */
async function surprises(changes: Record<string, string | undefined>[], expected: RegExp): Promise<string[]> {
  const found: string[] = []
  for (const call of allCalls())
    for (const change of changes) {
      const answer = await ask(call, { ...good(), ...change })
      if (!expected.test(answer)) found.push(`${call.name} with ${JSON.stringify(change)}: ${answer}`)
    }
  return found
}

test('no call takes another token than the one of this start', async () => {
  const wrong = wrongTokens(server.token, new Keys().token).map(authorization => ({ authorization }))
  expect(await surprises([{ authorization: undefined }], /^401 token-missing$/)).toEqual([])
  expect(await surprises(wrong, /^401 token-wrong$/)).toEqual([])
})

test('no call is reached under another name', async () => {
  const hosts = foreignHosts(server.port).map(host => ({ host }))
  expect(await surprises(hosts, /^403 host$/)).toEqual([])
})

test('no call comes from another page', async () => {
  const { port } = server
  const origins = [...foreignOrigins(port), `http://localhost:${port}`, `http://[::1]:${port}`]
  expect(
    await surprises(
      origins.map(origin => ({ origin })),
      /^403 origin$/,
    ),
  ).toEqual([])
  const sites = ['cross-site', 'same-site', 'same-origin, none'].map(site => ({ 'sec-fetch-site': site }))
  expect(await surprises(sites, /^403 cross-site$/)).toEqual([])
})

test('no call takes what forms can send', async () => {
  const types = ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded']
  const found = await surprises(
    types.map(type => ({ 'content-type': type, 'content-length': '2' })),
    /^415 content-type$/,
  )
  expect(found.filter(text => text.startsWith('POST'))).toEqual([])
})

test('its own page, and programs with the token, get in everywhere', async () => {
  const inside = /^(?!401|403 (host|origin|cross-site)|415)/
  expect(await surprises([{}, { origin: undefined }], inside)).toEqual([])
})

describe('sockets', () => {
  const upgrade = (headers: Record<string, string | undefined>, path = '/trpc?connectionParams=1') =>
    rawRequest(server.port, { path, headers: { ...UPGRADE, ...headers } }).then(({ status }) => status)

  test('open only for exact combinations', async () => {
    const { port } = server
    const bare = { ...good(), authorization: undefined }
    expect(await upgrade(good())).toBe(101)
    expect(await upgrade(bare)).toBe(101)
    expect(await upgrade({ ...good(), origin: undefined })).toBe(101)
    expect(await upgrade({ ...bare, origin: `http://localhost:${port}`, host: `localhost:${port}` })).toBe(
      101,
    )
    expect(await upgrade({ ...bare, origin: undefined })).toBe(401)
    for (const origin of [...foreignOrigins(port), `http://localhost:${port}`]) {
      expect(await upgrade({ ...good(), origin }), origin).toBe(403)
      expect(await upgrade({ ...bare, origin }), origin).toBe(403)
    }
    for (const host of [...foreignHosts(port), undefined])
      expect([400, 403], host).toContain(await upgrade({ ...good(), host }))
    for (const authorization of wrongTokens(server.token, new Keys().token))
      expect(await upgrade({ ...good(), authorization }), authorization).toBe(401)
    expect(await upgrade({ ...good(), 'sec-fetch-site': 'cross-site' })).toBe(403)
  })

  test.each(['/', '/trpc/', '/trpcx', '/api/harness/turn', '//trpc'])('there is none at %s', async path => {
    expect(await upgrade(good(), path)).toBe(404)
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
  const twice = { host, authorization: authorization ?? '', origin: [origin ?? '', 'http://evil.example'] }
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
