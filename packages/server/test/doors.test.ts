import { request } from 'node:https'
import { CERTIFICATE } from '@chirality/fixtures'
import { expect, test } from 'vitest'
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
