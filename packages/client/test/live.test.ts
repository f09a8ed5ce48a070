import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import type { ConnectionState } from '../src/index.ts'
import { connect, notice, startTestServer } from './support/test-server.ts'

test('a session is followed after an event, across a server that stops and starts again, without a gap or a repetition', async () => {
  const server = await startTestServer()
  let token = Promise.resolve(server.token)
  const client = connect(server, { token: () => token })
  const states: ConnectionState[] = []
  client.watchConnection(state => states.push(state))
  const { id } = await server.host.createSession(server.project)
  const { log } = await server.host.session(id)
  for (const text of ['one', 'two', 'three']) log.append(notice(id, text), { turnId: null })
  const seen: Envelope[] = []
  const problems: string[] = []
  client.followSession(id, 1, {
    onEnvelopes: envelopes => void seen.push(...envelopes),
    onError: problem => problems.push(problem),
  })
  await expect.poll(() => seen.map(({ seq }) => seq)).toEqual([2, 3])
  // The next server has another token, and takes no other from the moment that it listens.
  let tell = (_token: string) => {}
  token = new Promise(resolve => {
    tell = resolve
  })
  await server.close()
  await expect.poll(() => states.at(-1)).toBe('offline')
  const next = await server.again()
  tell(next.token)
  const again = await next.host.session(id)
  again.log.append(notice(id, 'four'), { turnId: null })
  await expect.poll(() => seen.map(({ seq }) => seq)).toEqual([2, 3, 4])
  expect(states.slice(0, 2)).toEqual(['connecting', 'connected'])
  expect(states.at(-1)).toBe('connected')
  expect(problems).toEqual([])
})

test('a token that the server does not take is told once, and not tried again', async () => {
  const server = await startTestServer()
  let asked = 0
  let refused = 0
  const client = connect(server, {
    token: async () => {
      asked += 1
      return 'x'.repeat(43)
    },
    onRefused: () => {
      refused += 1
    },
  })
  client.calls.fleet.events.subscribe(undefined, {})
  const call = client.calls.system.info.query()
  await expect(call).rejects.toThrow()
  await expect.poll(() => refused).toBe(1)
  const before = asked
  await expect(client.calls.system.info.query()).rejects.toThrow()
  expect({ refused, asked }).toEqual({ refused: 1, asked: before })
})

test('the states of all sessions come first as they are, then as they change', async () => {
  const server = await startTestServer()
  const client = connect(server, { token: async () => server.token })
  const types: string[] = []
  client.calls.fleet.events.subscribe(undefined, { onData: event => types.push(event.type) })
  await expect.poll(() => types).toEqual(['snapshot', 'loops'])
  const { id } = await client.calls.sessions.create.mutate({ project: server.project })
  await client.calls.sessions.rename.mutate({ sessionId: id, title: 'Renamed' })
  await expect.poll(() => types).toContain('changes')
})
