import { expect, test } from 'vitest'
import { PIXEL_PNG } from '../support/images.ts'
import { collect, collectAnd, lastBody, ofType } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a server that was started ahead serves the first turn', async () => {
  const model = await world.model({ answers: ['Hello.'] })
  const harness = world.harness({ model })
  expect(harness.capabilities().supportsPrewarm).toBe(true)
  const session = world.session()
  await harness.prewarm(session)
  await harness.prewarm(session)
  expect(spawned()).toHaveLength(1)
  const events = await collect(harness.startTurn(session, 'Hi'))
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Hello.' }])
  expect(spawned()).toHaveLength(1)
})

test('nothing is started ahead where each turn has a process of its own, or tools of its own', async () => {
  const model = await world.model({ answers: [] })
  const exec = world.harness({ model, voice: 'exec' })
  expect(exec.capabilities().supportsPrewarm).toBe(false)
  await exec.prewarm(world.session())
  const mcpServers = { x: { type: 'stdio', command: 'true' } } as const
  await world.harness({ model }).prewarm(world.session(), { mcpServers })
  expect(spawned()).toEqual([])
})

test('how full the context is, by the word of the agent', async () => {
  const model = await world.model({ answers: [{ text: 'Hello.', usage: { input: 1200, output: 34 } }] })
  const harness = world.harness({ model })
  const session = world.session()
  expect(await harness.contextUsage(session.id)).toBeUndefined()
  await collect(harness.startTurn(session, 'Hi'))
  expect(await harness.contextUsage(session.id)).toEqual({
    usedTokens: 1234,
    maxTokens: expect.any(Number),
  })
  await harness.close()
  expect(await harness.contextUsage(session.id)).toBeUndefined()
})

test('a picture can be sent into a running turn, and its file is gone with the turn', async () => {
  const model = await world.model({ answers: [{ text: 'one two', chunkChars: 4, stallAfter: 1 }, 'I see.'] })
  const harness = world.harness({ model })
  expect(harness.capabilities().supportsSteering).toBe(true)
  const session = world.session()
  const image = {
    type: 'image',
    source: { kind: 'base64', data: PIXEL_PNG, mediaType: 'image/png' },
  } as const
  const events = await collectAnd(
    harness.startTurn(session, 'Go'),
    ({ type }) => type === 'chat:delta',
    async () => expect(await harness.steer(session.id, 'Look at this', [image])).toBe(true),
  )
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
  expect(JSON.stringify(lastBody(model).input)).toMatch(/Look at this.*data:image/)
})

function spawned() {
  return world.logs.filter(({ event }) => event === 'process:spawn')
}
