import { createECDH, createPublicKey, verify } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import path from 'node:path'
import type { FleetService, RemoteSession } from '@chirality/centre'
import { encryptPush } from '@chirality/centre'
import { initRepository, startPushService as startLocalService } from '@chirality/fixtures'
import type { SessionStatus } from '@chirality/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { createWorld } from './support/agents.ts'
import { BrowserWithKey } from './support/browser-with-key.ts'
import { readSse } from './support/read-sse.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

/** The example of RFC 8291, appendix A. */
test('a message is encrypted as the standard says', () => {
  const sender = createECDH('prime256v1')
  sender.setPrivateKey(Buffer.from('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw', 'base64url'))
  const sealed = encryptPush(
    'When I grow up, I want to be a watermelon',
    {
      p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      auth: 'BTBZMqHH6r4Tts7J_aSIgg',
    },
    { sender, salt: Buffer.from('DGv6ra1nlYgDCS1FRnbzlw', 'base64url') },
  )
  expect(sealed.toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  )
})

interface Received {
  headers: IncomingHttpHeaders
  message: Record<string, string>
}

/** A push service whose messages are JSON. */
async function startPushService() {
  const service = await startLocalService()
  onTestFinished(service.close)
  const next = async (): Promise<Received> => {
    const { headers, text } = await service.next()
    return { headers, message: JSON.parse(text) as Record<string, string> }
  }
  return { ...service, next }
}

async function signedIn(server: TestServer) {
  const browser = await BrowserWithKey.create(server.url)
  const { token, browser: id } = await browser.signIn(new URL(server.link).hash.replace('#sign-in=', ''))
  const call = (name: string, body?: unknown) =>
    fetch(`${server.url}/trpc/system.${name}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  return { id: `${id}`, call }
}

const MAKES = { text: 'I make it.', tool: 'bash', input: { command: 'echo made > made.txt' } }

test('a closed page hears of a request and of an end, with as much as its user allows', async () => {
  const world = await createWorld({
    answers: Array.from({ length: 5 }, () => [MAKES, 'Made.']).flat(),
  })
  const harnesses = world.harnesses()
  const server = await startTestServer({ harnesses, projects: [world.project], allowLocalPush: true })
  const service = await startPushService()
  const { id, call } = await signedIn(server)
  const state = (await (await call('push')).json()) as { result: { data: { publicKey: string; show: null } } }
  expect(state.result.data.show).toBeNull()
  const { id: sessionId } = await server.host.createSession(world.project, {
    ...{ harness: 'messages-api', title: 'Fix CRLF handling' },
  })
  const subscribe = (show: string) =>
    call('subscribePush', { endpoint: service.endpoint, keys: service.keys, show })
  const runTurn = async (whenAsked = async () => {}) => {
    const response = await server.post('/api/harness/turn', { sessionId, message: 'Go.' })
    for await (const { data } of readSse(response))
      if (data.type === 'permission:request') {
        await whenAsked()
        await server.post('/api/harness/decisions', {
          ...{ sessionId, requestId: data.requestId, decision: { behavior: 'deny' } },
        })
      }
  }

  expect((await subscribe('nothing')).status).toBe(200)
  const asked: Received[] = []
  const hear = async () => void asked.push(await service.next())
  await runTurn(hear)
  const [first] = asked
  expect(first?.message).toEqual({
    ...{ kind: 'asks', sessionId, requestId: expect.any(String) },
    ...{ title: 'Chirality', body: 'A session needs you' },
  })
  expect(first?.headers).toMatchObject({ ttl: '3600', urgency: 'high', 'content-encoding': 'aes128gcm' })
  expect(isSigned(`${first?.headers.authorization}`, state.result.data.publicKey, service.origin)).toBe(true)
  const end = { kind: 'ended', sessionId, title: 'Chirality', body: 'A session ended' }
  expect((await service.next()).message).toEqual(end)

  await subscribe('name')
  const bodies: (string | undefined)[] = []
  const hearBody = async () => void bodies.push((await service.next()).message.body)
  // A service that is busy is asked again,
  service.answerWith(503)
  await runTurn(async () => {
    await hearBody()
    await hearBody()
  })
  await hearBody()
  expect(bodies.splice(0)).toEqual(['needs an answer', 'needs an answer', 'is done'])
  // but not for an answer that was given in the meantime.
  service.answerWith(503, 503)
  await runTurn(hearBody)
  await hearBody()
  await hearBody()
  expect(bodies).toEqual(['needs an answer', 'is done', 'is done'])

  await subscribe('text')
  await runTurn(hear)
  expect(asked[1]?.message).toMatchObject({
    ...{ title: 'Fix CRLF handling', body: expect.stringContaining('echo made > made.txt') },
  })
  await service.next()

  // Signed out: nothing more is sent, and nothing of it is kept.
  await server.post('/trpc/system.revokeBrowser', { id })
  expect(existsSync(path.join(server.home, 'push', `${id}.json`))).toBe(false)
  await runTurn()
  expect(service.received).toEqual([])
})

function isSigned(authorization: string, publicKey: string, audience: string): boolean {
  const [, header = '', claims = '', signature = '', key] =
    /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(authorization) ?? []
  const point = Buffer.from(publicKey, 'base64url')
  const jwk = { kty: 'EC', crv: 'P-256', x: point.subarray(1, 33).toString('base64url') }
  const known = createPublicKey({
    key: { ...jwk, y: point.subarray(33).toString('base64url') },
    format: 'jwk',
  })
  const { aud } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { aud: string }
  const bytes = Buffer.from(signature, 'base64url')
  const isValid = verify(
    ...([
      'sha256',
      Buffer.from(`${header}.${claims}`),
      { key: known, dsaEncoding: 'ieee-p1363' },
      bytes,
    ] as const),
  )
  return isValid && key === publicKey && aud === audience
}

test('a subscription that the service no longer knows is removed', async () => {
  const world = await createWorld({ answers: ['Hello.'] })
  const harnesses = world.harnesses()
  const server = await startTestServer({ harnesses, projects: [world.project], allowLocalPush: true })
  const service = await startPushService()
  const { id, call } = await signedIn(server)
  await call('subscribePush', { endpoint: service.endpoint, keys: service.keys, show: 'name' })
  const file = path.join(server.home, 'push', `${id}.json`)
  expect(existsSync(file)).toBe(true)
  service.answerWith(410)
  const { id: sessionId } = await server.host.createSession(world.project, { harness: 'messages-api' })
  await (await server.post('/api/harness/turn', { sessionId, message: 'Go.' })).text()
  await service.next()
  await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(false)
})

test('a task that needs somebody, the end of a loop and a scheduled run that failed are told, and one that is done is not', async () => {
  const world = await createWorld({ answers: ['All is well.'] })
  const { project } = world
  const repository = initRepository(project)
  // A task whose set-up fails is parked, without an agent.
  repository.write('TASKS.md', '---\nsetup: exit 3\n---\n- [ ] One\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const server = await startTestServer({
    ...{ harnesses: world.harnesses(), projects: [project], allowLocalPush: true },
  })
  const service = await startPushService()
  const { call } = await signedIn(server)
  const subscribe = (show: string) =>
    call('subscribePush', { endpoint: service.endpoint, keys: service.keys, show })
  await subscribe('text')
  const { client } = connect(server)
  const { loopId } = await client.loops.start.mutate({ project, list: 'TASKS.md' })
  const told = [await service.next(), await service.next()].map(({ message }) => message)
  const loop = { kind: 'loop', loopId, title: 'Loop TASKS.md' }
  expect(told).toContainEqual({ ...loop, body: expect.stringContaining('The set-up failed.') })
  expect(told).toContainEqual({ ...loop, body: 'ended: 0 proved · 1 needs you' })
  // Two tasks join with commands that nobody allowed: one notice, and that of the end.
  repository.write('TASKS.md', '- [ ] One\n- [ ] Two\n  checks: exit 4\n- [ ] Three\n  checks: exit 5\n')
  await client.loops.resume.mutate({ loopId })
  const joined = [await service.next(), await service.next()].map(({ message }) => message)
  expect(joined).toContainEqual({
    ...loop,
    body: expect.stringContaining('Two and 1 more: commands that nobody allowed'),
  })
  expect(joined).toContainEqual({ ...loop, body: 'ended: 0 proved · 3 need you' })

  const when = { kind: 'cron', cron: '0 3 * * *', timeZone: 'UTC' } as const
  const scheduled = async (harness: string) => {
    const what = { kind: 'prompt', prompt: 'Look.', harness } as const
    const { id } = await client.schedules.add.mutate({ name: `With ${harness}`, project, what, when })
    await client.schedules.run.mutate({ id })
    const receipt = async () => (await client.schedules.get.query({ id })).last?.receipt ?? null
    await expect.poll(receipt, { timeout: 120_000, interval: 50 }).not.toBeNull()
    return { id, receipt: await receipt() }
  }
  expect((await scheduled('messages-api')).receipt).toMatchObject({ outcome: 'done' })
  const failed = await scheduled('no-such-agent')
  expect(failed.receipt).toMatchObject({ outcome: 'failed' })
  // The next message after those of the loop: neither the run that is done nor the end of its turn was told.
  const run = { kind: 'schedule', scheduleId: failed.id }
  const words = failed.receipt?.words.split('\n')[0]
  expect((await service.next()).message).toEqual({ ...run, title: 'With no-such-agent', body: words })
  await subscribe('nothing')
  const hidden = await scheduled('no-such-agent')
  expect((await service.next()).message).toEqual({
    ...{ kind: 'schedule', scheduleId: hidden.id, title: 'Chirality', body: 'A scheduled run failed' },
  })
  expect(service.received).toEqual([])
  expect(server.faults).toEqual([])
})

test('a hub leaves to the loops and schedules of other machines what they tell themselves', async () => {
  const remote = new Map<string, RemoteSession>()
  const listeners = new Set<(sessionId: string) => void>()
  const fleet: Partial<FleetService> = {
    ...{ start: () => {}, close: async () => {}, machines: () => [], spentElsewhere: () => [] },
    ...{ sessions: () => [...remote.values()], session: id => remote.get(id) },
    info: () => ({ role: 'worker' }) as ReturnType<FleetService['info']>,
    onChange: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const server = await startTestServer({ allowLocalPush: true, fleet: fleet as FleetService })
  const service = await startPushService()
  const { call } = await signedIn(server)
  await call('subscribePush', { endpoint: service.endpoint, keys: service.keys, show: 'name' })
  const { id } = await server.host.createSession(server.project)
  const live = await server.host.session(id)
  const say = (sessionId: string, change: Partial<SessionStatus>, work?: RemoteSession['work']) => {
    const status: SessionStatus = { ...live.status, sessionId, title: sessionId, ...change }
    remote.set(sessionId, { machine: 'studio', session: { ...live.stored, id: sessionId }, status, work })
    for (const listener of listeners) listener(sessionId)
  }
  const done = { phase: 'idle', lastTurn: 'completed' } as const
  const asks = (sessionId: string): Partial<SessionStatus> => ({
    phase: 'waiting',
    pending: [
      {
        ...{ type: 'permission:request', sessionId, requestId: `r-${sessionId}`, kind: 'tool' },
        ...{ toolName: 'Bash', input: { command: 'ls' }, raw: {} },
      },
    ],
  })
  const heard = async () => {
    const { kind, title, body } = (await service.next()).message
    return [kind, title, body]
  }
  // The loop may be done with the task when its end is heard.
  for (const [i, after] of (['ends', undefined] as const).entries()) {
    say(`task-${i}`, { phase: 'running' }, 'ends')
    say(`task-${i}`, done, after)
  }
  say('nobody-is-asked', asks('nobody-is-asked'), 'all')
  say('own', { phase: 'running' })
  say('own', done)
  expect(await heard()).toEqual(['ended', 'own', 'is done'])
  say('asks', asks('asks'), 'ends')
  expect(await heard()).toEqual(['asks', 'asks', 'needs an answer'])
  // Its user goes on with it when the loop is over.
  say('task-0', { phase: 'running' })
  say('task-0', done)
  expect(await heard()).toEqual(['ended', 'task-0', 'is done'])
  expect([service.received, server.faults]).toEqual([[], []])
})

test('no subscription makes the server call into its own network', async () => {
  const server = await startTestServer()
  const { call } = await signedIn(server)
  const { keys } = await startPushService()
  const refused = async (endpoint: string, given: object = keys) => {
    const answer = await call('subscribePush', { endpoint, keys: given, show: 'name' })
    return answer.status
  }
  for (const endpoint of [
    ...[
      'http://127.0.0.1:1/x',
      'https://127.0.0.1/x',
      'https://[::1]/x',
      'https://localhost/x',
      'https://10.1.2.3/x',
    ],
    ...[
      'https://192.168.1.1/x',
      'https://169.254.169.254/latest',
      'https://100.64.0.1/x',
      'https://172.31.0.1/x',
    ],
    ...['https://[fd00::1]/x', 'https://[fe80::1]/x', 'https://[::ffff:127.0.0.1]/x', 'https://0.0.0.0/x'],
    ...[
      'https://2130706433/x',
      'https://user:pw@93.184.216.34/x',
      'http://93.184.216.34/x',
      'ftp://93.184.216.34/x',
    ],
    ...['file:///etc/passwd', 'junk', '', `https://a.example/${'x'.repeat(3000)}`],
  ])
    expect(await refused(endpoint), endpoint).toBe(400)
  expect(await refused('https://93.184.216.34/x', { p256dh: 'AAAA', auth: 'AAAA' })).toBe(400)
  // A program is no browser that could be notified.
  const program = { endpoint: 'https://93.184.216.34/x', keys, show: 'name' }
  expect((await server.post('/trpc/system.subscribePush', program)).status).toBe(400)
})
