import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { SignedInBrowser } from '@chirality/centre'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { BrowserWithKey } from './support/browser-with-key.ts'
import { rawRequest } from './support/raw-request.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

function secretOf(link: string): string {
  return new URL(link).hash.replace('#sign-in=', '')
}

test('the secret of the link is traded for a token, once', async () => {
  const server = await startTestServer()
  const body = JSON.stringify({ secret: secretOf(server.link) })
  const signIn = () => fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  const first = await signIn()
  expect(first.status).toBe(200)
  const { token, browser } = (await first.json()) as { token: string; browser: null }
  // A token of its own, so that it can be taken away; without a key it does not outlive the server.
  expect(token).not.toBe(server.token)
  expect(browser).toBeNull()
  expect((await callWith(server, token)).status).toBe(200)
  const second = await signIn()
  expect([second.status, await second.json()]).toEqual([
    401,
    { error: { code: 'link-used', message: expect.stringContaining('chirality link') } },
  ])
})

function callWith(server: { url: string }, token: string): Promise<Response> {
  return fetch(`${server.url}/trpc/system.info`, { headers: { authorization: `Bearer ${token}` } })
}

test('a link is refused after ten minutes, with words that say what to do', async () => {
  const server = await startTestServer()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60_000 + 1 })
  onTestFinished(() => void vi.useRealTimers())
  const body = JSON.stringify({ secret: secretOf(server.link) })
  const late = await fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  const message = 'This link is older than 10 minutes. `chirality link` prints a new one.'
  expect([late.status, await late.json()]).toEqual([401, { error: { code: 'link-expired', message } }])
})

test('a caller with a token can create another link', async () => {
  const server = await startTestServer()
  const made = await server.post('/trpc/system.newSignInLink', undefined)
  const { result } = (await made.json()) as { result: { data: { url: string } } }
  const body = JSON.stringify({ secret: secretOf(result.data.url) })
  const signedIn = await fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  const { token } = (await signedIn.json()) as { token: string }
  expect((await callWith(server, token)).status).toBe(200)
})

test('repeated wrong keys are slowed down', async () => {
  const server = await startTestServer()
  const guess = () =>
    fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body: '{"secret":"x"}' })
  const statuses = []
  for (let i = 0; i < 30; i += 1) statuses.push((await guess()).status)
  expect(statuses.filter(status => status === 401).length).toBeLessThan(30)
  expect(statuses.at(-1)).toBe(429)
  // Whoever floods does not keep the user out.
  const body = JSON.stringify({ secret: secretOf(server.link) })
  const signedIn = await fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  expect(signedIn.status).toBe(200)
})

test('only one of many browsers that use a link at the same moment is signed in', async () => {
  const server = await startTestServer()
  const body = JSON.stringify({ secret: secretOf(server.link) })
  const signIn = () => fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  const responses = await Promise.all(Array.from({ length: 20 }, signIn))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(401)])
})

test.each([
  ['', 400],
  ['{', 400],
  ['[]', 400],
  ['{"secret":1}', 400],
  ['{"secret":"x","more":1}', 400],
  ['{"secret":"x","key":"AAAA"}', 400],
  ['{"browser":"../../../etc/passwd","challenge":"x","signature":"x"}', 400],
  ['{"browser":"0123456789abcdef","challenge":"x"}', 400],
  ['{"browser":"0123456789abcdef","challenge":"x","signature":"x"}', 401],
  [`{"secret":"${'x'.repeat(2000)}"}`, 413],
])('a body of %s is refused with %i', async (body, status) => {
  const server = await startTestServer()
  const response = await fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  expect(response.status).toBe(status)
})

describe('a browser with a key of its own', () => {
  async function newLink(server: TestServer): Promise<string> {
    const made = await server.post('/trpc/system.newSignInLink', undefined)
    return ((await made.json()) as { result: { data: { url: string } } }).result.data.url
  }

  async function browsersOf(server: TestServer): Promise<SignedInBrowser[]> {
    const listed = await server.fetch('/trpc/system.browsers')
    return ((await listed.json()) as { result: { data: SignedInBrowser[] } }).result.data
  }

  test('comes back after a restart of the server, without a link', async () => {
    const first = await startTestServer()
    const browser = await BrowserWithKey.create(first.url)
    const { token, browser: id } = await browser.signIn(secretOf(first.link))
    await first.close()

    const second = await startTestServer({ port: first.port, home: first.home, projects: [] })
    expect((await callWith(second, token)).status).toBe(401)
    const back = await browser.comeBack(`${id}`)
    expect(back.status).toBe(200)
    const renewed = ((await back.json()) as { token: string }).token
    expect((await callWith(second, renewed)).status).toBe(200)
    expect(await browsersOf(second)).toEqual([
      {
        id,
        ...{ name: 'Firefox on Linux', origin: first.url, remembered: true },
        ...{ addedAt: expect.any(String), lastSignInAt: expect.any(String), lastSeenAt: expect.any(String) },
        ...{ address: '127.0.0.1', isConnected: false, isCaller: false },
      },
    ])
  })

  test('is let in by its key alone: what the data folder holds is worth nothing', async () => {
    const server = await startTestServer()
    const browser = await BrowserWithKey.create(server.url)
    const { browser: id, token } = await browser.signIn(secretOf(server.link))
    const folder = path.join(server.home, 'browsers')
    const files = readdirSync(folder).map(name => readFileSync(path.join(folder, name), 'utf8'))
    expect(files).toHaveLength(1)
    expect(files[0]).not.toContain(token)
    expect(JSON.parse(files[0] ?? '')).toMatchObject({ id, publicKey: browser.publicKey })

    const stranger = await BrowserWithKey.create(server.url)
    expect((await stranger.comeBack(`${id}`)).status).toBe(401)
    expect((await browser.comeBack('0123456789abcdef')).status).toBe(401)
    // What was signed for another address, or is asked for from none.
    expect((await browser.comeBack(`${id}`, { signedFor: 'http://127.0.0.1:1' })).status).toBe(401)
    expect((await browser.comeBack(`${id}`, { sentFrom: null })).status).toBe(401)
    const localhost = server.url.replace('127.0.0.1', 'localhost')
    const elsewhere = { at: localhost, sentFrom: localhost, signedFor: localhost }
    expect((await browser.comeBack(`${id}`, elsewhere)).status).toBe(401)
    // Once: an answer that somebody saw is no use to them.
    const challenge = await browser.askForChallenge()
    expect((await browser.comeBack(`${id}`, { challenge })).status).toBe(200)
    expect((await browser.comeBack(`${id}`, { challenge })).status).toBe(401)
    expect((await browser.comeBack(`${id}`, { challenge: `${challenge.slice(0, -1)}A` })).status).toBe(401)
  })

  test('is out when it is revoked: calls, sockets, streams and its key', async () => {
    const server = await startTestServer()
    const browser = await BrowserWithKey.create(server.url)
    const { browser: id, token } = await browser.signIn(secretOf(server.link))
    const other = await BrowserWithKey.create(server.url)
    const stays = await other.signIn(secretOf(await newLink(server)))

    const headers = { authorization: `Bearer ${token}` }
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/trpc`, { headers })
    await new Promise(resolve => socket.once('open', resolve))
    const closed = new Promise<number>(resolve => socket.once('close', resolve))
    const { id: sessionId } = await server.host.createSession(server.project)
    const stream = await fetch(`${server.url}/api/harness/session/${sessionId}/events`, { headers })
    const ended = stream.text().catch(() => 'cut off')

    const revoked = await server.post('/trpc/system.revokeBrowser', { id })
    expect(await revoked.json()).toEqual({ result: { data: { revoked: true } } })
    expect(await closed).toBe(4401)
    expect(await ended).toBe('cut off')
    expect((await callWith(server, token)).status).toBe(401)
    const refused = await browser.comeBack(`${id}`)
    expect([refused.status, await refused.json()]).toEqual([
      401,
      { error: { code: 'sign-in', message: expect.stringContaining('not signed in here any more') } },
    ])
    expect((await callWith(server, stays.token)).status).toBe(200)
    // With another link it is the same browser.
    expect((await other.signIn(secretOf(await newLink(server)))).browser).toBe(stays.browser)
    expect((await browsersOf(server)).map(known => known.id)).toEqual([stays.browser])
    const again = await server.post('/trpc/system.revokeBrowser', { id })
    expect(await again.json()).toEqual({ result: { data: { revoked: false } } })
  })
})

describe('a phone over HTTPS', () => {
  const NAME = 'https://agents.example'
  /** As through a proxy on this machine. */
  function post(server: TestServer, path: string, body: unknown, headers: Record<string, string> = {}) {
    return rawRequest(server.port, {
      ...{ method: 'POST', path, body: JSON.stringify(body) },
      headers: {
        ...{ host: 'agents.example', origin: NAME, 'content-type': 'application/json' },
        ...{ 'user-agent': 'iPhone Safari/605', ...headers },
      },
    })
  }

  test('comes back by its cookie after a restart, without a key, until it is signed out', async () => {
    const first = await startTestServer({ publicOrigins: [NAME] })
    const forwarded = { 'x-forwarded-for': '6.6.6.6, 192.0.2.7' }
    const signedIn = await post(first, '/api/sign-in', { secret: secretOf(first.link) }, forwarded)
    const { browser: id } = JSON.parse(signedIn.text) as { browser: string }
    const given = signedIn.headers['set-cookie']?.[0] ?? ''
    expect(given).toMatch(
      /^__Secure-chirality-device=[0-9a-f]{16}\.[\w-]{43}; Max-Age=34560000; Path=\/api\/sign-in\/device; Secure; HttpOnly; SameSite=Strict$/,
    )
    const cookie = given.split(';')[0] ?? ''
    const secret = cookie.split('.')[1] ?? ''
    const file = readFileSync(path.join(first.home, 'browsers', `${id}.json`), 'utf8')
    expect(file).not.toContain(secret)
    await first.close()

    const second = await startTestServer({ home: first.home, projects: [], publicOrigins: [NAME] })
    const back = await post(second, '/api/sign-in/device', {}, { cookie })
    expect(back.status).toBe(200)
    expect(back.headers['set-cookie']).toEqual([given])
    const { token } = JSON.parse(back.text) as { token: string }
    expect((await callWith(second, token)).status).toBe(200)
    // The digest that the data folder has is no secret.
    const digest = (JSON.parse(file) as { cookie: string }).cookie
    const stolen = `__Secure-chirality-device=${id}.${digest.slice(0, 43)}`
    expect((await post(second, '/api/sign-in/device', {}, { cookie: stolen })).status).toBe(401)

    const socket = new WebSocket(`ws://127.0.0.1:${second.port}/trpc`, {
      headers: { authorization: `Bearer ${token}` },
    })
    await new Promise(resolve => socket.once('open', resolve))
    const listed = await fetch(`${second.url}/trpc/system.browsers`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await listed.json()).toMatchObject({
      result: {
        data: [{ id, name: 'Safari on iPhone', address: '127.0.0.1', isConnected: true, isCaller: true }],
      },
    })
    const closed = new Promise<number>(resolve => socket.once('close', resolve))
    await second.post('/trpc/system.revokeBrowser', { id })
    expect(await closed).toBe(4401)
    const refused = await post(second, '/api/sign-in/device', {}, { cookie })
    expect(refused.status).toBe(401)
    expect(refused.headers['set-cookie']?.[0]).toContain('Max-Age=0')
    expect((await callWith(second, token)).status).toBe(401)
  })

  test('gets no cookie over plain HTTP, where every port of the machine would see it', async () => {
    const server = await startTestServer()
    const response = await fetch(`${server.url}/api/sign-in`, {
      ...{ method: 'POST', headers: { ...JSON_TYPE, origin: server.url } },
      body: JSON.stringify({ secret: secretOf(server.link) }),
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('set-cookie')).toBeNull()
  })

  test.each([
    ['the last of those that a proxy on this machine names', [NAME], '6.6.6.6, 192.0.2.7', '192.0.2.7'],
    ['the proxy itself if it names none', [NAME], '', '127.0.0.1'],
    ['the proxy itself if it names junk', [NAME], '192.0.2.7, <b>', null],
    ['the one that connects where no proxy is expected', [], '192.0.2.7', '127.0.0.1'],
  ])('has the address of %s', async (_which, publicOrigins, forwarded, address) => {
    const server = await startTestServer({ publicOrigins })
    const at: Record<string, string> =
      publicOrigins.length > 0 ? {} : { host: `127.0.0.1:${server.port}`, origin: server.url }
    const headers = { ...at, 'x-forwarded-for': forwarded }
    await post(server, '/api/sign-in', { secret: secretOf(server.link) }, headers)
    const listed = await server.fetch('/trpc/system.browsers')
    expect(await listed.json()).toMatchObject({ result: { data: [{ address }] } })
  })
})
