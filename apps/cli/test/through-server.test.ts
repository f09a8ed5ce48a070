import path from 'node:path'
import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import { ServerRefusedError, startThroughServer } from '../src/commands/run/through-server.ts'
import { createWorld } from './support/world.ts'

test('a turn runs in the server that has the project, and looks like one of ours', async () => {
  const world = await createWorld({ answers: ['Hello.', { text: 'This takes its time.', stallAfter: 1 }] })
  const home = path.join(world.home, 'chirality')
  const server = world.start(['serve', '--json', '--port', '0', '--project', world.project], {
    env: { CHIRALITY_HOME: home },
  })
  await server.shows('\n')
  const { url } = JSON.parse(server.stdout) as { url: string }

  const turn = await startThroughServer(url, { projectRoot: world.project, message: 'Hi' }, home)
  const envelopes: Envelope[] = []
  for await (const envelope of turn?.envelopes ?? []) envelopes.push(envelope)
  expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, i) => i + 1))
  expect(envelopes[0]).toMatchObject({
    sessionId: turn?.sessionId,
    event: { type: 'turn:start', message: 'Hi' },
  })
  expect(envelopes.find(({ event }) => event.type === 'chat:message')?.event).toMatchObject({
    text: 'Hello.',
  })

  const again = { projectRoot: world.project, sessionId: turn?.sessionId, message: 'And now slowly.' }
  const slow = await startThroughServer(url, again, home)
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  await expect(startThroughServer(url, again, home)).rejects.toThrow(ServerRefusedError)
  await slow?.interrupt()
  const rest: Envelope[] = []
  for await (const envelope of slow?.envelopes ?? []) rest.push(envelope)
  expect(rest.find(({ event }) => event.type === 'turn:end')?.event).toMatchObject({ reason: 'interrupted' })
  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})

test('an address that no server of ours has is nobody to send a token to', async () => {
  const world = await createWorld()
  const request = { projectRoot: world.project, message: 'Hi' }
  expect(
    await startThroughServer('http://127.0.0.1:1', request, path.join(world.home, 'none')),
  ).toBeUndefined()
  expect(await startThroughServer('chirality run', request, path.join(world.home, 'none'))).toBeUndefined()
})
