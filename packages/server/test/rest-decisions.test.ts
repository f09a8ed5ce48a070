import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Script } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { createWorld } from './support/agents.ts'
import { type ReceivedEvent, readSse } from './support/read-sse.ts'
import { startTestServer } from './support/test-server.ts'

const MAKES = { text: 'I make it.', tool: 'bash', input: { command: 'echo made > made.txt' } }

async function open(answers: Script['answers']) {
  const world = await createWorld({ answers })
  const server = await startTestServer({ harnesses: world.harnesses(), projects: [world.project] })
  const create = async (options: object) => {
    const response = await server.post('/api/harness/session/create', {
      ...{ projectRoot: world.project, harness: 'messages-api', ...options },
    })
    const { session } = (await response.json()) as { session: { id: string } }
    return session.id
  }
  const turn = async (sessionId: string, options?: object) => {
    const response = await server.post('/api/harness/turn', { sessionId, message: 'Go.', options })
    expect(response.status).toBe(200)
    return readSse(response)
  }
  const get = async (url: string) => (await server.fetch(url)).json()
  const isMade = () => existsSync(path.join(world.project, 'made.txt'))
  return { world, server, create, turn, get, isMade }
}

type Events = AsyncGenerator<ReceivedEvent, void, undefined>

async function until(events: Events, type: string): Promise<Record<string, unknown>> {
  for (let next = await events.next(); !next.done; next = await events.next())
    if (next.value.data.type === type) return next.value.data
  throw new Error(`The stream ended without ${type}.`)
}

test('a pipeline sends no requests: calls that need one are denied, and the turn goes on', async () => {
  const { create, turn, isMade } = await open([MAKES, 'It was denied.'])
  const events = await turn(await create({ mode: 'pipeline' }))
  expect(await until(events, 'tool:result')).toMatchObject({ isError: true })
  expect(await until(events, 'turn:end')).toMatchObject({ reason: 'completed' })
  expect(isMade()).toBe(false)
})

test('an unanswered request is denied after the time limit of the turn', async () => {
  const { create, turn, isMade } = await open([MAKES, 'It was denied.'])
  const events = await turn(await create({}), { decisionTimeoutMs: 1, verbose: true })
  expect(await until(events, 'permission:resolved')).toMatchObject({ outcome: 'denied', by: 'timeout' })
  expect(await until(events, 'turn:end')).toMatchObject({ reason: 'completed' })
  expect(isMade()).toBe(false)
})

test('spec 000: a turn is streamed to its end; meanwhile another is refused, and it can be interrupted', async () => {
  const { server, create, turn } = await open([MAKES, 'Never said.'])
  const sessionId = await create({})
  const events = await turn(sessionId)
  expect((await events.next()).value).toMatchObject({ data: { type: 'turn:start', sessionId } })
  await until(events, 'permission:request')
  const again = await server.post('/api/harness/turn', { sessionId, message: 'Me, too.' })
  expect([again.status, await again.json()]).toMatchObject([409, { error: { code: 'busy' } }])
  const interrupt = () => server.post('/api/harness/interrupt', { sessionId })
  const interrupted = await interrupt()
  expect([interrupted.status, await interrupted.json()]).toEqual([200, { interrupted: true }])
  expect(await until(events, 'turn:end')).toMatchObject({ reason: 'interrupted' })
  expect(await events.next()).toEqual({ done: true, value: undefined })
  expect(await (await interrupt()).json()).toEqual({ interrupted: false })
})

test('an open request is listed and answered, and the session is shown as waiting', async () => {
  const { server, create, turn, get, isMade } = await open([MAKES, 'Made.'])
  const sessionId = await create({})
  const status = async () => {
    const { session } = (await get(`/api/harness/session/${sessionId}`)) as { session: { status: string } }
    const [listed] = (await get('/api/harness/session/list')) as { status: string }[]
    const own = await get(`/trpc/sessions.get?input=${encodeURIComponent(JSON.stringify({ sessionId }))}`)
    const { result } = own as { result: { data: { status: string } } }
    return [session.status, listed?.status, result.data.status]
  }
  expect(await status()).toEqual(['idle', 'idle', 'idle'])
  const events = await turn(sessionId)
  await until(events, 'turn:start')
  const { requestId } = await until(events, 'permission:request')
  expect(await status()).toEqual(['waiting', 'waiting', 'waiting'])
  const pending = () => get(`/api/harness/decisions?sessionId=${sessionId}`)
  const waiting = { sessionId, request: { requestId, toolName: 'bash', input: MAKES.input } }
  await expect.poll(pending).toMatchObject({ pending: [waiting] })
  expect(await get('/api/harness/decisions')).toMatchObject({ pending: [waiting] })
  const answer = (decision: object, id = requestId) =>
    server.post('/api/harness/decisions', { sessionId, requestId: id, decision }).then(({ status }) => status)
  expect(await answer({ behavior: 'perhaps' })).toBe(400)
  expect(await answer({ behavior: 'allow' }, 'another')).toBe(404)
  expect(isMade()).toBe(false)
  expect(await answer({ behavior: 'allow' })).toBe(204)
  expect(await answer({ behavior: 'deny' })).toBe(409)
  expect(await until(events, 'turn:end')).toMatchObject({ reason: 'completed' })
  expect(isMade()).toBe(true)
  expect(await pending()).toEqual({ pending: [] })
  expect((await server.fetch('/api/harness/decisions?sessionId=../x')).status).toBe(404)
})

test('requests of a project that is no longer registered are neither listed nor answered', async () => {
  const { server, create, turn, get, isMade } = await open([MAKES, 'Made.'])
  const sessionId = await create({})
  const events = await turn(sessionId)
  const { requestId } = await until(events, 'permission:request')
  const ofAll = () => get('/api/harness/decisions')
  await expect.poll(ofAll).toMatchObject({ pending: [{ sessionId }] })
  // As another server of the same user does it: this one still has the project open.
  const folder = path.join(server.home, 'trusted')
  const files = readdirSync(folder).map(name => path.join(folder, name))
  const kept = files.map(file => readFileSync(file))
  for (const file of files) rmSync(file)
  expect(await ofAll()).toEqual({ pending: [] })
  const { result } = (await get('/trpc/decisions.pending')) as { result: { data: unknown } }
  expect(result.data).toEqual([])
  expect((await server.fetch(`/api/harness/decisions?sessionId=${sessionId}`)).status).toBe(403)
  const answer = { sessionId, requestId, decision: { behavior: 'allow' } }
  expect((await server.post('/api/harness/decisions', answer)).status).toBe(403)
  expect((await server.post('/trpc/decisions.answer', answer)).status).toBe(403)
  expect(isMade()).toBe(false)
  for (const [i, file] of files.entries()) writeFileSync(file, kept[i] ?? '', { mode: 0o600 })

  expect(await ofAll()).toMatchObject({ pending: [{ sessionId }] })
  expect((await server.post('/api/harness/decisions', answer)).status).toBe(204)
  expect(await until(events, 'turn:end')).toMatchObject({ reason: 'completed' })
  expect(isMade()).toBe(true)
})

test('spec 003: the default session goes on without leave; /events says what waits and why a turn failed', async () => {
  const { server, isMade } = await open([
    ...[MAKES, 'It was denied.'],
    ...[MAKES, 'Made.'],
    { error: { status: 400, message: 'messages: no' } },
  ])
  const events = readSse(await server.fetch('/events?after=0'))
  const prompt = async (options?: object) =>
    expect((await server.post('/prompt', { content: 'Go.', options })).status).toBe(202)
  const states = async (last: string) => {
    const seen: string[] = []
    while (seen.at(-1) !== last) seen.push(String((await until(events, 'status')).state))
    return seen
  }
  const rests = () => expect.poll(() => server.host.statuses().map(({ phase }) => phase)).toEqual(['idle'])
  await prompt()
  expect(await states('idle')).not.toContain('waiting')
  expect(isMade()).toBe(false)
  await rests()
  await prompt({ permissionMode: 'default' })
  const request = await until(events, 'permission_request')
  expect(request).toMatchObject({ name: 'bash', input: MAKES.input })
  expect(await until(events, 'status')).toEqual({
    ...{ type: 'status', state: 'waiting', message: 'bash waits for permission.' },
  })
  const [{ sessionId = '' } = {}] = server.host.statuses()
  const decision = { behavior: 'allow' }
  await server.post('/api/harness/decisions', { sessionId, requestId: request.id, decision })
  expect((await until(events, 'status')).state).toBe('running tool')
  await states('idle')
  expect(isMade()).toBe(true)
  await rests()
  await prompt()
  expect(await until(events, 'error')).toMatchObject({
    ...{ code: 'invalid_request', message: expect.stringContaining('messages: no'), recovered: false },
  })
  expect(await until(events, 'status')).toMatchObject({ state: 'idle', message: 'The turn ended: failed.' })
  await events.return?.()
})
