import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { FleetEvent } from '@chirality/centre'
import { ProjectRegistry } from '@chirality/centre'
import { expect, test } from 'vitest'
import { EventReader } from './support/event-reader.ts'
import { seeded } from './support/random.ts'
import { appendEvents, sessionWith, startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

test('a subscriber gets what was and what comes, in batches, each event once', async () => {
  const server = await startTestServer()
  const { id, log } = await sessionWith(server, 1000)
  const { client } = connect(server)
  const seen: number[] = []
  let batches = 0
  await new Promise<void>((resolve, reject) => {
    client.session.events.subscribe(
      { sessionId: id },
      {
        onStarted: () => appendEvents(log, 1000),
        onData: ({ id: last, data }) => {
          batches += 1
          seen.push(...data.map(({ seq }) => seq))
          expect(last).toBe(String(data.at(-1)?.seq))
          if (seen.length >= 2000) resolve()
        },
        onError: reject,
      },
    )
  })
  expect(seen).toEqual(Array.from({ length: 2000 }, (_, i) => i + 1))
  expect(batches).toBeLessThan(200)
  expect(server.faults).toEqual([])
})

test('a page of history holds the last events that fit into so many bytes, and at least one', async () => {
  const server = await startTestServer()
  const { id, log } = await sessionWith(server, 5000)
  const { client } = connect(server)
  const page = (options: object) => client.sessions.history.query({ sessionId: id, limit: 400, ...options })
  const seqs = (envelopes: { seq: number }[]) => envelopes.map(({ seq }) => seq)
  expect(seqs(await page({}))).toEqual(Array.from({ length: 400 }, (_, i) => 4601 + i))
  const tail = await page({ maxBytes: 50_000 })
  expect(JSON.stringify(tail).length).toBeLessThanOrEqual(50_000)
  expect(tail.length).toBeGreaterThan(50)
  expect(seqs(tail)).toEqual(tail.map((_, i) => 5000 - tail.length + 1 + i))
  // The pages before it follow on, and each gets on.
  const before = await page({ maxBytes: 50_000, before: tail[0]?.seq })
  expect(before.at(-1)?.seq).toBe(5000 - tail.length)
  expect(seqs(await page({ maxBytes: 1 }))).toEqual([5000])
  appendEvents(log, 1, 'x'.repeat(100_000))
  expect(seqs(await page({ maxBytes: 50_000 }))).toEqual([5001])
})

test('over HTTP the same comes as server-sent events', async () => {
  const server = await startTestServer()
  const { id } = await sessionWith(server, 3)
  const input = encodeURIComponent(JSON.stringify({ sessionId: id, lastEventId: '1' }))
  const leave = new AbortController()
  const response = await fetch(`${server.url}/trpc/session.events?input=${input}`, {
    headers: { authorization: `Bearer ${server.token}`, accept: 'text/event-stream' },
    signal: leave.signal,
  })
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes('"seq":3')) break
  }
  leave.abort()
  expect(text).toContain('id: 3')
  const [data = ''] = text.split('\n').filter(line => line.startsWith('data: ['))
  expect(JSON.parse(data.slice('data: '.length))).toMatchObject([{ seq: 2, sessionId: id }, { seq: 3 }])
})

test('a cursor ahead of the log gets an error that says what to do', async () => {
  const server = await startTestServer()
  const { id } = await sessionWith(server, 3)
  const { client } = connect(server)
  const error = await new Promise<{
    message: string
    data?: { reason?: string | null; code?: string } | null
  }>(resolve => {
    client.session.events.subscribe({ sessionId: id, lastEventId: '99' }, { onError: resolve })
  })
  expect(error.data).toMatchObject({ code: 'CONFLICT', reason: 'cursor-ahead' })
  expect(error.message).toContain('Read it again from 0.')
})

test('1,000 reconnects at random points: no gap, no duplicate', async () => {
  const server = await startTestServer()
  const { id, log } = await sessionWith(server, 200)
  const random = seeded(7)
  let drops = 0
  await Promise.all([...Array(READERS).keys()].map(() => readWithDrops()))
  expect(drops).toBeGreaterThanOrEqual(DROPS)
  expect(server.faults).toEqual([])

  async function readWithDrops(): Promise<void> {
    let cursor = 0
    while (drops < DROPS || cursor < log.lastSeq) {
      // The last connection of each reader stays until it has everything.
      let left = drops < DROPS ? Math.floor(random() * 40) : Number.POSITIVE_INFINITY
      const reader = new EventReader(server, { sessionId: id, lastEventId: String(cursor) }, batch => {
        for (const { seq } of batch) {
          // Whatever arrives after the drop is not seen.
          if (left < 0) break
          expect(seq).toBe(cursor + 1)
          cursor = seq
          left -= 1
        }
        if (left < 0 || (drops >= DROPS && cursor === log.lastSeq)) reader.socket.terminate()
        else if (drops < DROPS) appendEvents(log, 1, 'y')
      })
      await reader.closed()
      drops += 1
      // Nobody waits at the end of the log for ever.
      if (drops <= DROPS) appendEvents(log, 1, 'z')
    }
  }
})

test('the fleet is sent once in full, then its changes', async () => {
  const server = await startTestServer()
  const { id } = await sessionWith(server, 1)
  const { client } = connect(server)
  const events: FleetEvent[] = []
  const subscription = client.fleet.events.subscribe(undefined, {
    onData: event => events.push(event as FleetEvent),
  })
  await expect
    .poll(() => events[0])
    .toMatchObject({ type: 'snapshot', sessions: [{ sessionId: id, phase: 'idle' }] })
  await client.sessions.rename.mutate({ sessionId: id, title: 'New' })
  await expect
    .poll(() => events.at(-1))
    .toMatchObject({ type: 'changes', sessions: [{ title: 'New' }], removed: [] })
  await client.sessions.delete.mutate({ sessionId: id })
  await expect.poll(() => events.at(-1)).toMatchObject({ removed: [id] })
  subscription.unsubscribe()
})

test('the fleet shows no session of a project that is not registered', async () => {
  const server = await startTestServer()
  const { id } = await sessionWith(server, 1)
  const other = path.join(server.project, '..', 'other')
  mkdirSync(other)
  const { client } = connect(server)
  await client.projects.register.mutate({ path: other })
  await client.projects.open.mutate({ project: other })
  const { id: hidden } = await server.host.createSession(other)
  await server.host.session(hidden)
  // As another program of the user would forget it: this server still has it open.
  await new ProjectRegistry(server.home).remove(other)
  const events: FleetEvent[] = []
  const subscription = client.fleet.events.subscribe(undefined, {
    onData: event => events.push(event as FleetEvent),
  })
  await expect.poll(() => events.map(({ type }) => type)).toEqual(['snapshot', 'loops'])
  await server.host.renameSession(hidden, 'Secret')
  await client.sessions.rename.mutate({ sessionId: id, title: 'Shown' })
  await expect.poll(() => JSON.stringify(events)).toContain('Shown')
  subscription.unsubscribe()
  expect(events[0]).toMatchObject({ type: 'snapshot', sessions: [{ sessionId: id }] })
  expect(JSON.stringify(events)).not.toContain(hidden)
})

const DROPS = 1000
const READERS = 8
