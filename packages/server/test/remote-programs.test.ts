import { existsSync } from 'node:fs'
import path from 'node:path'
import type { FleetService, RemoteSession } from '@chirality/centre'
import { expect, test } from 'vitest'
import { type ReceivedEvent, readSse } from './support/read-sse.ts'
import { sessionWith, startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'
import { type TwoMachines, twoMachines } from './support/two-machines.ts'

const ASKS = { text: 'I make it.', tool: 'bash', input: { command: 'echo made > made.txt' } }

async function create({ hub, worker }: TwoMachines): Promise<string> {
  const made = { projectRoot: worker.project, harness: 'messages-api', machine: 'build-1' }
  const response = await hub.post('/api/harness/session/create', made)
  expect(response.status).toBe(201)
  return ((await response.json()) as { session: { id: string } }).session.id
}

async function rest(events: AsyncIterable<ReceivedEvent>): Promise<ReceivedEvent[]> {
  const all: ReceivedEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

test('a turn of a session of another machine runs there, and its events come up to the last', async () => {
  const machines = await twoMachines({ answers: ['First.', 'Second.'] })
  const { hub, worker } = machines
  const sessionId = await create(machines)
  for (const said of ['First.', 'Second.']) {
    const response = await hub.post('/api/harness/turn?as=envelopes', { sessionId, message: 'Go.' })
    expect(response.status).toBe(200)
    const events = await rest(readSse(response))
    const turn = events.map(({ data }) => data.turnId)
    expect(new Set(turn).size).toBe(1)
    const { log } = await worker.host.session(sessionId)
    // Also what comes after the end of the turn.
    expect(events.map(({ data }) => data)).toEqual(
      JSON.parse(JSON.stringify(log.readAfter(0, 1000).filter(({ turnId }) => turnId === turn[0]))),
    )
    expect(JSON.stringify(events)).toContain(said)
  }
  expect(await hub.host.store.list()).toEqual([])
})

test('what it asks is listed and answered through the hub, once', async () => {
  const machines = await twoMachines({ answers: [ASKS, 'Made.'] })
  const { hub, worker } = machines
  const sessionId = await create(machines)
  const events = readSse(await hub.post('/api/harness/turn', { sessionId, message: 'Go.' }))
  let asked: ReceivedEvent['data'] | undefined
  while (asked === undefined) {
    const { value } = await events.next()
    if (value?.data.type === 'permission:request') asked = value.data
  }
  const { client } = connect(hub)
  const pending = [{ sessionId, request: { requestId: asked?.requestId } }]
  await expect.poll(() => client.decisions.pending.query()).toMatchObject(pending)
  expect(await client.decisions.pending.query({ sessionId })).toMatchObject(pending)
  for (const query of ['', `?sessionId=${sessionId}`])
    expect(await (await hub.fetch(`/api/harness/decisions${query}`)).json()).toMatchObject({ pending })
  const answer = { sessionId, requestId: asked?.requestId, decision: { behavior: 'allow' } }
  expect((await hub.post('/api/harness/decisions', answer)).status).toBe(204)
  expect((await hub.post('/api/harness/decisions', answer)).status).toBe(409)
  expect((await rest(events)).map(({ data }) => data.type)).toContain('turn:end')
  expect(existsSync(path.join(worker.project, 'made.txt'))).toBe(true)
  await expect.poll(() => client.decisions.pending.query()).toEqual([])
})

test('the stream of a turn ends without a turn:end when its machine goes away', async () => {
  const machines = await twoMachines({ answers: [ASKS, 'Made.'] })
  const { hub, goAway } = machines
  const sessionId = await create(machines)
  const types: unknown[] = []
  for await (const { data } of readSse(await hub.post('/api/harness/turn', { sessionId, message: 'Go.' }))) {
    types.push(data.type)
    if (data.type === 'permission:request') goAway()
  }
  expect(types).toContain('permission:request')
  expect(types).not.toContain('turn:end')
})

test('the routes without ids take one of another machine, too', async () => {
  const machines = await twoMachines({ answers: [ASKS, 'Made.'] })
  const { hub, calls } = machines
  const id = await create(machines)
  const events = readSse(await hub.fetch(`/events?session=${id}&after=0`))
  const begun = await hub.post(`/prompt?session=${id}`, { content: 'Go.' })
  expect([begun.status, await begun.json()]).toMatchObject([202, { sessionId: id }])
  for (let next = await events.next(); !next.done; next = await events.next())
    if (next.value.data.type === 'permission_request') break
  const sessions = readSse(await hub.fetch(`/api/harness/session/${id}/events`))
  expect((await sessions.next()).value).toMatchObject({ data: { type: 'turn:start' } })
  expect(await (await hub.post(`/cancel?session=${id}`, {})).json()).toEqual({ cancelled: true })
  const interrupt = await hub.post('/api/harness/interrupt', { sessionId: id })
  expect(await interrupt.json()).toEqual({ interrupted: expect.any(Boolean) })
  expect(calls.slice(-2)).toEqual(['turns.interrupt', 'turns.interrupt'])
})

test('the work for a list of sessions of other machines grows with their number, not with its square', async () => {
  const session = await (async () => {
    const server = await startTestServer()
    return server.host.store.get((await sessionWith(server, 1)).id)
  })()
  let work = 0
  const count = <T>(value: T): T => {
    work += 1
    return value
  }
  const remote = (index: number): RemoteSession => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
    return {
      machine: `build-${index % 50}`,
      session: { ...session, id } as RemoteSession['session'],
      status: null,
    }
  }
  const workFor = async (sessions: number) => {
    const all = Array.from({ length: sessions }, (_, index) => remote(index))
    const fleet: Partial<FleetService> = {
      ...{ start: () => {}, close: async () => {}, spentElsewhere: () => [], onChange: () => () => {} },
      info: () => ({ machine: 'hub', role: 'hub' }) as ReturnType<FleetService['info']>,
      machines: () => {
        work += sessions
        return []
      },
      sessions: () => {
        work += sessions
        return all
      },
      ...{ session: id => count(all.find(one => one.session.id === id)), machineOf: () => undefined },
      stateOf: () => count('here' as const),
    }
    const { client } = connect(await startTestServer({ fleet: fleet as FleetService }))
    work = 0
    const { sessions: listed } = await client.sessions.list.query({ limit: 200 })
    expect(listed).toHaveLength(200)
    expect(listed[0]).toMatchObject({ machine: { name: expect.any(String), state: 'here' } })
    return work
  }
  const [some, more] = [await workFor(1_000), await workFor(10_000)]
  expect(more).toBeLessThanOrEqual(10 * some)
  expect(more).toBeLessThan(20_000)
})
