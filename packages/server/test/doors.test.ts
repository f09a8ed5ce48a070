import { once } from 'node:events'
import { request as plainRequest } from 'node:http'
import { createServer, request } from 'node:https'
import { type AddressInfo, connect as connectTo } from 'node:net'
import { CERTIFICATE } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { proxiesOf } from '../src/http/check-binding.ts'
import { needsInnerDoor } from '../src/http/doors.ts'
import { readServerFile } from '../src/index.ts'
import { rawRequest } from './support/raw-request.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

const NAME = 'https://agents.example'
const OVER_TLS = { exposed: { tls: CERTIFICATE }, publicOrigins: [NAME] }

test.each([
  ['127.0.0.1', 'plain', false],
  ['127.0.0.2', 'plain', false],
  ['::1', 'plain', false],
  // They are on loopback, too.
  ['0.0.0.0', 'plain', false],
  ['::', 'plain', false],
  ['192.168.1.5', 'plain', true],
  ['fd00::2', 'plain', true],
  ['my-host', 'plain', true],
  // A certificate is for the name that others use.
  ['127.0.0.1', 'tls', true],
  ['0.0.0.0', 'tls', true],
  ['192.168.1.5', 'tls', true],
] as const)('a server at %s (%s) needs a door for this machine: %s', (host, how, needed) => {
  expect(needsInnerDoor(host, how === 'tls' ? CERTIFICATE : undefined)).toBe(needed)
})

/** Over TLS, as somebody outside would; the certificate is one that nobody vouches for. */
function askOutside(port: number, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = {
      port,
      host: '127.0.0.1',
      path: '/trpc/system.info',
      headers,
      rejectUnauthorized: false,
      agent: false,
    }
    request(options, response => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
}

test('others come over TLS, programs of this machine over loopback, and each under its own names only', async () => {
  const server = await startTestServer(OVER_TLS)
  const { port, token, url, home } = server
  const inner = Number(new URL(url).port)
  expect(url).toBe(`http://127.0.0.1:${inner}`)
  expect(inner).not.toBe(port)
  expect(server.link).toMatch(/^https:\/\/agents\.example\/#sign-in=/)
  expect(await readServerFile(home, url)).toMatchObject({ url, token })

  const authorization = `Bearer ${token}`
  expect(await askOutside(port, { host: 'agents.example', origin: NAME, authorization })).toBe(200)
  expect(await askOutside(port, { host: 'agents.example', origin: NAME })).toBe(401)
  expect(await askOutside(port, { host: 'evil.example', authorization })).toBe(403)
  // A page of one door does not use the other.
  const page = { origin: url, authorization }
  expect(await askOutside(port, { host: `127.0.0.1:${port}`, ...page })).toBe(403)
  const outerPage = { host: `127.0.0.1:${inner}`, origin: `https://127.0.0.1:${port}`, authorization }
  expect((await rawRequest(inner, { path: '/trpc/system.info', headers: outerPage })).status).toBe(403)
  expect((await rawRequest(inner, { path: '/', headers: { host: 'evil.example' } })).status).toBe(403)

  expect((await server.fetch('/trpc/system.info')).status).toBe(200)
  expect(await connect(server).client.system.info.query()).toMatchObject({ address: url })
  await server.close()
  await expect(askOutside(port, { host: 'agents.example', authorization })).rejects.toThrow('ECONNREFUSED')
  await expect(server.fetch('/healthz')).rejects.toThrow('fetch failed')
  expect(await readServerFile(home, url)).toBeUndefined()
})

test.each([
  ['no certificate', { ...CERTIFICATE, cert: 'not a certificate' }],
  ['half a key', { ...CERTIFICATE, key: CERTIFICATE.key.slice(0, 100) }],
])('%s is told before anything listens', async (_what, tls) => {
  const error = await startTestServer({ ...OVER_TLS, exposed: { tls } }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'unsafe-binding' })
  expect(String(error)).toContain('cannot be used')
})

/** A reverse proxy with TLS on this machine, as nginx and Caddy are set up in docs/remote.md. */
async function startProxy(target: number): Promise<number> {
  const proxy = createServer(CERTIFICATE, (incoming, outgoing) => {
    const { method, url: path, headers, socket } = incoming
    const forwarded = [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ')
    const sent = { ...headers, 'x-forwarded-for': forwarded, 'x-forwarded-proto': 'https' }
    const onward = plainRequest({ host: '127.0.0.1', port: target, method, path, headers: sent }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  proxy.on('upgrade', ({ method, url, rawHeaders }, client, head) => {
    const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []))
    const server = connectTo(target, '127.0.0.1', () => {
      server.write(`${[`${method} ${url} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`)
      server.write(head)
      server.pipe(client).pipe(server)
    })
    server.on('error', () => client.destroy())
    client.on('error', () => server.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return (proxy.address() as AddressInfo).port
}

test('a browser behind a reverse proxy signs in, calls and has a socket; the server stays on loopback', async () => {
  const server = await startTestServer({ publicOrigins: [NAME] })
  const proxy = await startProxy(server.port)
  const own = { host: 'agents.example', origin: NAME, 'content-type': 'application/json' }
  const ask = (path: string, headers: Record<string, string>, body?: unknown) =>
    new Promise<{ status: number; text: string; cookie: string }>((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST'
      const options = {
        port: proxy,
        host: '127.0.0.1',
        method,
        path,
        headers,
        rejectUnauthorized: false,
        agent: false,
      }
      const sent = request(options, answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, cookie }))
      })
      sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
  const secret = new URL(server.link).hash.replace('#sign-in=', '')
  // What a browser sends as its own address is not believed: the proxy appends the real one.
  const signedIn = await ask('/api/sign-in', { ...own, 'x-forwarded-for': '203.0.113.9' }, { secret })
  expect(signedIn.status).toBe(200)
  const { token } = JSON.parse(signedIn.text) as { token: string }
  const back = await ask('/api/sign-in/device', { ...own, cookie: signedIn.cookie }, {})
  expect(back.status).toBe(200)
  const authorization = `Bearer ${token}`
  const listed = await ask('/trpc/system.browsers', { ...own, authorization })
  expect(JSON.parse(listed.text)).toMatchObject({
    result: { data: [{ address: '127.0.0.1', isCaller: true }] },
  })
  // Forwarded headers name no other page and no other host.
  const forged = { 'x-forwarded-host': 'agents.example', forwarded: 'host=agents.example;proto=https' }
  expect(
    (await ask('/trpc/system.info', { ...own, host: 'evil.example', authorization, ...forged })).status,
  ).toBe(403)
  const evil = { ...own, origin: 'https://evil.example', authorization }
  expect((await ask('/trpc/system.info', evil)).status).toBe(403)

  const open = (origin: string) =>
    new Promise<string>(resolve => {
      const socket = new WebSocket(
        `wss://127.0.0.1:${proxy}/trpc`,
        ['chirality', `chirality.token.${token}`],
        {
          ...{ headers: { host: 'agents.example' }, origin, rejectUnauthorized: false },
        },
      )
      socket.once('error', error => resolve(error.message))
      socket.once('open', () =>
        socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'system.info', input: null } })),
      )
      socket.once('message', data => {
        socket.close()
        resolve(`${data}`)
      })
    })
  expect(await open(NAME)).toContain('"version":"1.2.3"')
  expect(await open('https://evil.example')).toContain('403')
})

test('a proxy of another machine is believed only if it was named, and only by its IP address', async () => {
  const options = { host: '0.0.0.0', publicOrigins: [NAME] }
  const error = await startTestServer({
    ...options,
    exposed: { proxy: true, address: 'proxy.example' },
  }).catch((reason: unknown) => reason)
  expect(String(error)).toContain('is not the IP address of a proxy')
  expect(proxiesOf({ ...options, exposed: { proxy: true, address: '10.0.0.2' } }).has('10.0.0.2')).toBe(true)
  expect(proxiesOf({ ...options, exposed: { proxy: true } }).has('10.0.0.2')).toBe(false)
  // A server that speaks TLS itself has none in front.
  expect(proxiesOf({ ...options, exposed: { tls: CERTIFICATE } }).size).toBe(0)
})
