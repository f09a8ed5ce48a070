import { StoppedTurns } from '@chirality/centre'
import { isEnclosing } from '@chirality/runner'
import { expect, test } from 'vitest'
import type { RunningServer } from '../src/index.ts'
import { createWorld, serveWorld, type World } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

const FREE = { permissionMode: 'bypassPermissions' } as const

async function serve(world: World): Promise<RunningServer> {
  const server = await serveWorld(world)
  return server
}

test.each([
  ['interrupt', 'interrupted', true],
  ['kill', 'killed', false],
] as const)('after %s nothing of the turn runs, and it is told so', async (how, reason, agentKept) => {
  const world = await createWorld({
    answers: [{ text: 'I wait.', tool: 'Bash', input: { command: 'echo $$ > pid && sleep 600' } }],
    otherwise: 'Done.',
  })
  const { client } = connect(await serve(world))
  const { id: sessionId } = await client.sessions.create.mutate({ project: world.project })
  expect(await client.turns.leftovers.query({ sessionId })).toBeNull()
  const watch = new SessionWatch(client, sessionId)
  const options = { autoApproveTools: ['Bash'] }
  await client.turns.start.mutate({ sessionId, message: 'Wait.', options })
  await watch.until('tool:start')
  const processes = async () => (await client.system.processes.query({ sessionId }))[0]?.processes.length ?? 0
  // The agent, the shell that it started and what runs in it.
  await expect.poll(processes, { timeout: 20_000 }).toBeGreaterThan(1)

  await client.turns[how].mutate({ sessionId })
  expect((await watch.until('turn:end')).reason).toBe(reason)
  await expect.poll(() => client.turns.leftovers.query({ sessionId })).toMatchObject({ agentKept, left: 0 })
})

test('commands of a loop that is part of the server are not the agent: they are left, or not', async () => {
  const world = await createWorld({
    answers: [{ text: 'I wait.', tool: 'bash', input: { command: 'exec sleep 600' } }],
    otherwise: 'Done.',
  })
  const server = await serve(world)
  const { client } = connect(server)
  const options = { project: world.project, harness: 'messages-api' }
  const { id: sessionId } = await client.sessions.create.mutate(options)
  const watch = new SessionWatch(client, sessionId)
  await client.turns.start.mutate({ sessionId, message: 'Wait.', options: FREE })
  await watch.until('tool:start')
  const processes = async () => (await client.system.processes.query({ sessionId }))[0]?.processes.length ?? 0
  await expect.poll(processes, { timeout: 20_000 }).toBe(1)

  const stopped = new StoppedTurns(server.host)
  await stopped.note(await server.host.session(sessionId))
  expect(await stopped.leftovers({ id: sessionId })).toEqual({
    agentKept: false,
    left: 1,
    sure: isEnclosing(),
  })
  await client.turns.interrupt.mutate({ sessionId })
  expect((await watch.until('turn:end')).reason).toBe('interrupted')
  expect(await client.turns.leftovers.query({ sessionId })).toMatchObject({ agentKept: false, left: 0 })
})

test('a process of a session is shown with what it takes, and is ended only by that session', async () => {
  const command = 'sh -c "sleep 600 & sleep 601"'
  const world = await createWorld({
    answers: [{ text: 'I wait.', tool: 'bash', input: { command } }],
    otherwise: 'It was ended.',
  })
  const server = await serve(world)
  const { client } = connect(server)
  const create = () => client.sessions.create.mutate({ project: world.project, harness: 'messages-api' })
  const [{ id: sessionId }, { id: other }] = [await create(), await create()]
  const watch = new SessionWatch(client, sessionId)
  await client.turns.start.mutate({ sessionId, message: 'Wait.', options: FREE })
  await watch.until('tool:start')
  const processes = async () =>
    (await client.system.processes.query({ sessionId })).flatMap(one => one.processes)
  const find = async (words: string) => (await processes()).find(one => one.command === words)
  await expect.poll(() => find('sleep 601'), { timeout: 20_000 }).toBeDefined()
  const shell = (await processes()).find(one => one.command.startsWith('sh -c sleep'))
  expect(shell).toMatchObject({ role: 'started', ageMs: expect.any(Number), cpuMs: expect.any(Number) })
  expect(shell?.memoryBytes).toBeGreaterThan(0)
  const { pid = 0, startedAt = '' } = shell ?? {}

  await client.turns.prewarm.mutate({ sessionId: other })
  const end = (input: { sessionId: string; pid: number; startedAt: string }) =>
    client.system.endProcess.mutate(input)
  // Another session's, a reused pid, and a process that no agent started.
  for (const wrong of [{ sessionId: other }, { startedAt: '1' }, { pid: process.pid }])
    await expect(end({ sessionId, pid, startedAt, ...wrong })).rejects.toMatchObject({
      data: { code: 'NOT_FOUND' },
    })
  expect((await processes()).some(one => one.pid === pid)).toBe(true)

  // With what it started itself.
  expect((await end({ sessionId, pid, startedAt })).left).toBe(0)
  expect(await find('sleep 600')).toBeUndefined()
  expect((await watch.until('turn:end')).reason).toBe('completed')
  expect(await client.system.processes.query({ sessionId })).toEqual([])
})

test.each([
  [
    'waits for its model',
    { text: 'This takes its time.', stallAfter: 1 },
    { agentKept: true, left: 0, sure: isEnclosing() },
  ],
  ['runs a command', { text: 'I wait.', tool: 'exec_command', input: { cmd: 'sleep 600' } }, null],
] as const)(
  'where another session of the same Codex %s, what is true of both is told',
  async (_what, other, expected) => {
    const world = await createWorld({
      answers: [other, { text: 'I wait.', tool: 'exec_command', input: { cmd: 'sleep 600' } }],
      otherwise: 'Done.',
    })
    const { client } = connect(await serve(world))
    const options = { project: world.project, harness: 'codex' }
    const start = async () => {
      const { id: sessionId } = await client.sessions.create.mutate(options)
      const watch = new SessionWatch(client, sessionId)
      await client.turns.start.mutate({ sessionId, message: 'Wait.', options: FREE })
      return { sessionId, watch }
    }
    const first = await start()
    await (expected === null
      ? first.watch.until('tool:start')
      : world.model.waitForRequest(({ state }) => state === 'stalled'))
    const { sessionId, watch } = await start()
    await watch.until('tool:start')
    await client.turns.interrupt.mutate({ sessionId })
    expect((await watch.until('turn:end')).reason).toBe('interrupted')
    await expect
      .poll(() => client.turns.leftovers.query({ sessionId }), { timeout: 20_000 })
      .toEqual(expected)
    await client.turns.kill.mutate({ sessionId: first.sessionId })
  },
)
