import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readSse } from './support/read-sse.ts'
import { notice, sessionWith, startTestServer, type TestServer } from './support/test-server.ts'

const UNKNOWN = '00000000-0000-4000-8000-000000000000'

async function createSession(server: TestServer): Promise<string> {
  const response = await server.post('/api/harness/session/create', {
    projectRoot: server.project,
    persona: null,
    mode: 'direct',
  })
  expect(response.status).toBe(201)
  const { session } = (await response.json()) as { session: { id: string } }
  return session.id
}

test('sessions are made, listed, read and deleted', async () => {
  const server = await startTestServer()
  const id = await createSession(server)
  const listed = await server.fetch(
    `/api/harness/session/list?projectRoot=${encodeURIComponent(server.project)}`,
  )
  expect(await listed.json()).toMatchObject([
    { id, projectRoot: server.project, persona: null, mode: 'direct' },
  ])
  const all = await server.fetch('/api/harness/session/list')
  expect(await all.json()).toMatchObject([{ id }])
  const got = await server.fetch(`/api/harness/session/${id}`)
  expect([got.status, await got.json()]).toMatchObject([200, { session: { id, claudeSessionId: null } }])
  const deleted = await server.fetch(`/api/harness/session/${id}`, { method: 'DELETE' })
  expect([deleted.status, await deleted.text()]).toEqual([204, ''])
  expect((await server.fetch(`/api/harness/session/${id}`)).status).toBe(404)
})

test.each([
  ['POST', '/api/harness/turn', { sessionId: UNKNOWN, message: 'x' }, 404, 'not-found'],
  ['POST', '/api/harness/turn', { sessionId: UNKNOWN }, 400, 'invalid-input'],
  ['POST', '/api/harness/turn', { sessionId: UNKNOWN, message: 'x', env: { A: 'b' } }, 400, 'invalid-input'],
  ['POST', '/api/harness/turn', { sessionId: '../../x', message: 'x' }, 400, 'invalid-input'],
  ['POST', '/api/harness/interrupt', { sessionId: UNKNOWN }, 404, 'not-found'],
  [
    'POST',
    '/api/harness/session/create',
    { projectRoot: '/', mode: 'direct' },
    403,
    'project-not-registered',
  ],
  ['POST', '/api/harness/session/create', { projectRoot: 'x', mode: 'other' }, 400, 'invalid-input'],
  ['POST', '/prompt', {}, 400, 'invalid-input'],
  ['GET', `/api/harness/session/${UNKNOWN}`, undefined, 404, 'not-found'],
  ['GET', '/api/harness/session/..%2f..%2fetc', undefined, 404, 'not-found'],
  ['DELETE', `/api/harness/session/${UNKNOWN}`, undefined, 404, 'not-found'],
  ['GET', '/api/harness/turn', undefined, 405, 'method'],
  ['GET', '/events?after=-1', undefined, 400, 'invalid-input'],
  ['GET', '/events?after=5', undefined, 409, 'cursor-ahead'],
  ['GET', `/events?session=${UNKNOWN}`, undefined, 404, 'not-found'],
] as const)('%s %s with %j is %i', async (method, path, body, status, code) => {
  const server = await startTestServer()
  const response = body === undefined ? await server.fetch(path, { method }) : await server.post(path, body)
  expect(response.status).toBe(status)
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  expect(error.code).toBe(code)
  expect(error.message).not.toMatch(/\n\s+at |node_modules/)
  expect(server.faults).toEqual([])
})

test('an invalid input gets an error that names the field', async () => {
  const server = await startTestServer()
  const response = await server.post('/api/harness/turn', {
    sessionId: 'ok',
    message: '',
    options: { maxTurns: 0 },
  })
  const { error } = (await response.json()) as { error: { message: string } }
  expect(error.message).toContain('message: must not be empty')
  expect(error.message).toContain('options.maxTurns:')
})

test('no call can choose a program, its environment or a folder', async () => {
  const server = await startTestServer()
  const id = await createSession(server)
  const forbidden = [
    { env: { PATH: '/tmp' } },
    { mcpServers: { x: { type: 'stdio', command: '/bin/sh' } } },
    { additionalDirectories: ['/'] },
    { binaryPath: '/bin/sh' },
    { cwd: '/' },
    { model: '--settings=x' },
    { images: [{ type: 'image', source: { kind: 'path', path: '/etc/passwd', mediaType: 'image/png' } }] },
  ]
  for (const options of forbidden) {
    const response = await server.post('/trpc/turns.start', { sessionId: id, message: 'x', options })
    expect(response.status, JSON.stringify(options)).toBe(400)
  }
})

test('events of a session are streamed from a cursor on, with their numbers', async () => {
  const server = await startTestServer()
  const { id, log } = await sessionWith(server, 3)
  const response = await server.fetch(`/api/harness/session/${id}/events`, {
    headers: { 'last-event-id': '2' },
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const stream = readSse(response)
  expect((await stream.next()).value).toMatchObject({ id: '3', event: 'status' })
  log.append(notice(id, 'live'), { turnId: null })
  const live = (await stream.next()).value
  expect(live).toMatchObject({ id: '4', event: 'status', data: { type: 'status', message: 'live' } })
  await stream.return?.(undefined)
})

test('spec 003: /events tells of whole texts and calls, and resumes', async () => {
  const server = await startTestServer()
  const { id, log } = await sessionWith(server, 0)
  const first = await server.fetch(`/events?session=${id}`)
  const stream = readSse(first)
  const put = (event: Parameters<typeof log.append>[0]) => log.append(event, { turnId: 't' })
  put({ type: 'turn:start', sessionId: id, message: 'Hi' })
  put({ type: 'chat:delta', sessionId: id, text: 'Hel', messageId: 'm' })
  put({ type: 'chat:message', sessionId: id, text: 'Hello', messageId: 'm' })
  put({ type: 'chat:thinking', sessionId: id, text: 'Hm.', messageId: 'n', final: true })
  put({ type: 'tool:start', sessionId: id, toolUseId: 'c', name: 'read', input: {} })
  const seen = []
  for (let i = 0; i < 4; i += 1) seen.push((await stream.next()).value)
  expect(seen.map(event => event?.data)).toMatchObject([
    { type: 'user', content: 'Hi', timestamp: expect.any(Number) },
    { type: 'status', state: 'thinking' },
    { type: 'text', content: 'Hello' },
    { type: 'reasoning', content: 'Hm.' },
  ])
  await stream.return?.(undefined)
  put({ type: 'tool:input', sessionId: id, toolUseId: 'c', input: { path: 'a' } })
  put({ type: 'tool:result', sessionId: id, toolUseId: 'c', content: 'A', isError: false })
  put({ type: 'turn:end', sessionId: id, reason: 'completed' })
  const lastId = seen.at(-1)?.id ?? ''
  const again = readSse(await server.fetch(`/events?session=${id}`, { headers: { 'last-event-id': lastId } }))
  const rest = []
  for (let i = 0; i < 5; i += 1) rest.push((await again.next()).value?.data)
  expect(rest).toMatchObject([
    { type: 'tool_call', id: 'c', name: 'read', input: { path: 'a' } },
    { type: 'status', state: 'running tool' },
    { type: 'tool_result', id: 'c', result: 'A', isError: false },
    { type: 'status', state: 'thinking' },
    { type: 'status', state: 'idle' },
  ])
  await again.return?.(undefined)
})

test('the default session is made when it is needed', async () => {
  const server = await startTestServer()
  const cancelled = await server.fetch('/cancel', { method: 'POST' })
  expect([cancelled.status, await cancelled.json()]).toEqual([200, { cancelled: false }])
  expect(readdirSync(`${server.project}/.chirality/sessions`)).toHaveLength(1)
})

test('a fresh data folder shows the sessions that a project has already', async () => {
  const first = await startTestServer()
  const id = await createSession(first)
  await first.close()
  const fresh = await startTestServer({ projects: [first.project] })
  const all = await fresh.fetch('/trpc/sessions.list')
  expect(await all.json()).toMatchObject({ result: { data: { sessions: [{ id }] } } })
  const listed = await fresh.fetch('/api/harness/session/list')
  expect(await listed.json()).toMatchObject([{ id }])
  expect((await fresh.fetch(`/api/harness/session/${id}`)).status).toBe(200)
})
