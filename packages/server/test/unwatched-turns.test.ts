import { expect, test } from 'vitest'
import { createWorld } from './support/agents.ts'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

const SLOW = { timeout: 400_000, interval: 100 }
/** An agent that never comes to an end by itself. */
const ENDLESS = { otherwise: { tool: 'bash', input: { command: 'echo round' } } }

test('a turn of the default session, which nobody may watch, has 25 rounds', {
  timeout: 500_000,
}, async () => {
  const world = await createWorld(ENDLESS)
  const server = await startTestServer({ harnesses: world.harnesses(), projects: [world.project] })
  expect((await server.post('/prompt', { content: 'Go.' })).status).toBe(202)
  const { client } = connect(server)
  const turn = async () => (await client.sessions.list.query({})).sessions[0]?.lastTurn
  await expect.poll(turn, SLOW).toBe('max_turns')
  expect(world.model.requests.filter(({ method }) => method === 'POST')).toHaveLength(25)
})

test('a scheduled prompt uses the tools that it was allowed without asking, for at most 100 rounds', {
  timeout: 500_000,
}, async () => {
  const world = await createWorld(ENDLESS)
  const { project } = world
  const server = await startTestServer({ harnesses: world.harnesses(), projects: [project] })
  const { client } = connect(server)
  const { id } = await client.schedules.add.mutate({
    ...{ name: 'Rounds', project, when: { kind: 'every', minutes: 600 }, answerMinutes: 0 },
    what: { kind: 'prompt', prompt: 'Go.', harness: 'messages-api', allow: ['Bash(echo *)'] },
  })
  await client.schedules.run.mutate({ id })
  const receipt = async () => (await client.schedules.get.query({ id })).last?.receipt
  await expect.poll(receipt, SLOW).toEqual(expect.anything())
  expect(await receipt()).toMatchObject({ outcome: 'limit', exitCode: 5 })
  expect(world.model.requests.filter(({ method }) => method === 'POST')).toHaveLength(100)
})
