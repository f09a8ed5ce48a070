import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { MAX_CALL_BYTES } from '../src/rest/trpc-route.ts'
import { MAX_BATCH } from '../src/socket/trpc-socket.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'

// Every answer here is compared with docs/openapi.json by support/described-answers.ts, a setup file of the tests.

const FILE = new URL('../../../docs/openapi.json', import.meta.url)
const document = JSON.parse(readFileSync(FILE, 'utf8')) as { paths: Record<string, Record<string, unknown>> }
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

interface Sent {
  body?: string
  headers?: Record<string, string>
}

const JSON_BODY = { 'content-type': 'application/json' }
/** More than any call may have, announced and not sent. A procedure would wait for it. */
const TOO_LARGE: Sent = { headers: { ...JSON_BODY, 'content-length': String(MAX_CALL_BYTES + 1) } }
/** What a careless or hostile program sends. */
const BODIES: Sent[] = [
  {},
  { body: '{}', headers: JSON_BODY },
  { body: '{', headers: JSON_BODY },
  { body: '[[]]', headers: JSON_BODY },
  { body: 'null', headers: JSON_BODY },
  {
    body: JSON.stringify({ id: 7, sessionId: '../..', projectRoot: '/', message: '', x: 'y' }),
    headers: JSON_BODY,
  },
  { body: '{}', headers: { 'content-type': 'text/plain' } },
  { body: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } },
]
const QUERIES = [
  '',
  '?',
  '?input=%7B',
  '?input=null',
  '?projectRoot=/no/such&after=x&limit=-1&format=x&path=..',
  '?batch=1',
]

/** Resolves with the status once the answer is whole, or has begun to be a stream. */
function ask(server: TestServer, method: string, target: string, { body, headers }: Sent): Promise<number> {
  return new Promise((resolve, reject) => {
    const isAnnounced = headers?.['content-length'] !== undefined
    const sent = request({
      ...{ host: '127.0.0.1', port: server.port, path: target, method, agent: false },
      headers: { authorization: `Bearer ${server.token}`, ...headers },
    })
    sent.once('error', reject)
    sent.once('response', answer => {
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream')
      const over = () => {
        if (isStream || isAnnounced) sent.destroy()
        resolve(answer.statusCode ?? 0)
      }
      if (isStream) return over()
      answer.resume().once('end', over)
    })
    if (isAnnounced) sent.flushHeaders()
    else sent.end(body)
  })
}

test('whatever is sent to a route, by whatever method, gets an answer that is described', {
  timeout: 600_000,
}, async () => {
  const server = await startTestServer()
  const { id } = await server.host.createSession(server.project)
  const statuses = new Set<number>()
  for (const [path, operations] of Object.entries(document.paths))
    for (const name of path.includes('{') ? ['no-such-thing', id, '..%2f'] : [''])
      for (const method of METHODS) {
        const target = path.replace(/\{\w+\}/g, name)
        const isThere = method.toLowerCase() in operations
        const large = path.startsWith('/trpc/') ? [] : [TOO_LARGE]
        const bodies = method === 'GET' || method === 'HEAD' ? BODIES.slice(0, 1) : [...BODIES, ...large]
        const queries = method === 'GET' ? QUERIES : QUERIES.slice(0, 1)
        // Another method is refused before its body is read.
        for (const sent of isThere ? bodies : BODIES.slice(0, 1))
          for (const query of isThere ? queries : QUERIES.slice(0, 1))
            statuses.add(await ask(server, method, target + query, sent))
      }
  expect(server.faults).toEqual([])
  expect([...statuses].sort()).toEqual([200, 204, 400, 401, 403, 404, 405, 413, 415])
})

test('a procedure without input takes a call without a body', async () => {
  const server = await startTestServer()
  expect(await ask(server, 'POST', '/trpc/system.newSignInLink', {})).toBe(200)
  expect(await ask(server, 'POST', '/trpc/sessions.delete', {})).toBe(400)
})

test('what is refused before a procedure is known is refused as described, too', async () => {
  const server = await startTestServer()
  const many = Array.from({ length: MAX_BATCH + 1 }, () => 'system.info').join()
  const large = { body: JSON.stringify('x'.repeat(MAX_CALL_BYTES)), headers: JSON_BODY }
  expect(await ask(server, 'GET', `/trpc/${many}?batch=1&input=%7B%7D`, {})).toBe(400)
  expect(await ask(server, 'GET', '/trpc/system.info?connectionParams=%7B', {})).toBe(400)
  expect(await ask(server, 'POST', '/trpc/sessions.delete', large)).toBe(413)
  expect(server.faults).toEqual([])
})
