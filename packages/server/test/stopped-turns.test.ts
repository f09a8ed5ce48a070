import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { createWorld } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

test.each([
  ['interrupt', 'interrupted', true],
  ['kill', 'killed', false],
] as const)('after %s nothing of the turn runs, and it is told so', async (how, reason, agentKept) => {
  const world = await createWorld({
    answers: [{ text: 'I wait.', tool: 'Bash', input: { command: 'echo $$ > pid && sleep 600' } }],
    otherwise: 'Done.',
  })
  const server = await startServer({
    ...{ harnesses: world.harnesses(), projects: [world.project], port: 0 },
    home: path.join(world.home, 'chirality'),
  })
  onTestFinished(() => server.close())
  const { client } = connect(server)
  const { id: sessionId } = await client.sessions.create.mutate({ project: world.project })
  expect(await client.turns.leftovers.query({ sessionId })).toBeNull()
  const watch = new SessionWatch(client, sessionId)
  const options = { autoApproveTools: ['Bash'] }
  await client.turns.start.mutate({ sessionId, message: 'Wait.', options })
  await watch.until('tool:start')
  const processes = async () => (await client.system.processes.query({ sessionId }))[0]?.processes.length ?? 0
  // The agent, the shell that it started and what runs in it.
  await expect.poll(processes).toBeGreaterThan(1)

  await client.turns[how].mutate({ sessionId })
  expect((await watch.until('turn:end')).reason).toBe(reason)
  await expect.poll(() => client.turns.leftovers.query({ sessionId })).toEqual({ agentKept, left: 0 })
})
