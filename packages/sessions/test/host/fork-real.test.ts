import type { SessionHarness } from '@chirality/core'
import { claudeBinary } from '@chirality/fixtures'
import { CodexHarness, MessagesApiHarness } from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import type { ScriptedModel } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import type { SessionHost } from '../../src/host/session-host.ts'
import type { LiveSession } from '../../src/status/live-session.ts'
import { bodiesAfter, eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

interface Agent {
  make(model: ScriptedModel): SessionHarness
  /** An answer that runs a command. */
  command(shell: string): { tool: string; input: Record<string, unknown> }
}

const bash: Agent['command'] = command => ({ tool: 'Bash', input: { command, description: 'x' } })
const exec: Agent['command'] = cmd => ({ tool: 'exec_command', input: { cmd } })

const AGENTS: [string, Agent][] = [
  ['Claude Code', { make: model => world.claude(model, { keepAlive: true }), command: bash }],
  ['Codex', { make: model => world.codex(model), command: exec }],
  [
    'the Agent SDK',
    {
      make: model =>
        new AgentSdkHarness({ binaryPath: claudeBinary(), environment: world.environment(model) }),
      command: bash,
    },
  ],
  [
    'the Messages API',
    { make: model => new MessagesApiHarness({ environment: world.environment(model) }), command: bash },
  ],
]

const OPENING = '<earlier-conversation>'

test.each(AGENTS)(
  '%s: a fork at an earlier point goes on from the agent’s own conversation, cut there',
  async (_name, { make, command }) => {
    const model = await world.model({
      answers: [
        command('echo feathers'),
        'I noted the heron.',
        'I noted the pelican.',
        'On with it.',
        'Still.',
      ],
    })
    const host = world.host([make(model)])
    const { id, session } = await open(host)
    await say(session, 'The first bird is a heron.')
    const atSeq = session.log.lastSeq
    await say(session, 'The second bird is a pelican.')

    expect(await host.forkHistory(id, { atSeq })).toBe('cut')
    const forked = await host.forkSession(id, { atSeq })
    expect(forked.forkedFrom).toMatchObject({ sessionId: id, seq: atSeq, history: 'cut' })
    const fork = await host.session(forked.id)
    const before = model.requests.length
    await say(fork, 'Which birds?')
    await say(fork, 'And now?')

    const bodies = bodiesAfter(model, before)
    expect(bodies).toHaveLength(2)
    for (const body of bodies) {
      expect(body).not.toContain('pelican')
      expect(body).not.toContain(OPENING)
      expect(body.split('The first bird is a heron.')).toHaveLength(2)
      expect(body.split('I noted the heron.')).toHaveLength(2)
      // The call and its result, as the agent itself has them.
      expect(body).toMatch(/"type":"(tool_use|function_call)"/)
      expect(body).toMatch(/"type":"(tool_result|function_call_output)"/)
      expect(body).toContain('echo feathers')
      expect(body).toContain('Which birds?')
    }
    expect(bodies[1]).toContain('On with it.')
    const said = eventsOf(fork).flatMap(event => (event.type === 'turn:start' ? [event.message] : []))
    expect(said).toEqual(['The first bird is a heron.', 'Which birds?', 'And now?'])
    expect(eventsOf(fork).filter(event => event.type === 'session:error')).toEqual([])

    // The other conversation is as it was.
    const later = model.requests.length
    await say(session, 'And in the first one?')
    expect(bodiesAfter(model, later)[0]).toContain('pelican')
    expect(bodiesAfter(model, later)[0]).not.toContain('Which birds?')
  },
)

test.each(AGENTS)(
  '%s: where its conversation cannot be cut any more, the fork is told and gets a written account',
  async (_name, { make }) => {
    const model = await world.model({
      answers: ['I noted the heron.', 'I noted the pelican.', 'On with it.', 'Still.'],
    })
    const host = world.host([make(model)])
    const { id, session } = await open(host)
    await say(session, 'The first bird is a heron.')
    const atSeq = session.log.lastSeq
    await say(session, 'The second bird is a pelican.')
    const forked = await host.forkSession(id, { atSeq })
    const { forkedFrom } = forked
    if (forkedFrom === null) throw new Error('the fork has no origin')
    const point = '00000000-0000-4000-8000-000000000000'
    await host.store.update(forked.id, { forkedFrom: { ...forkedFrom, point } })
    const fork = await host.session(forked.id)
    const before = model.requests.length
    await say(fork, 'Which birds?')
    await say(fork, 'And now?')

    const bodies = bodiesAfter(model, before)
    expect(bodies).toHaveLength(2)
    for (const body of bodies) {
      expect(body).not.toContain('pelican')
      expect(body.split(OPENING)).toHaveLength(2)
      expect(body.split('I noted the heron.')).toHaveLength(2)
    }
    const told = eventsOf(fork).flatMap(event => (event.type === 'status' ? [event.message] : []))
    expect(told.filter(message => message.includes('a written account'))).toHaveLength(1)
    expect(eventsOf(fork).findLast(({ type }) => type === 'turn:end')).toMatchObject({ reason: 'completed' })
  },
)

test('the other session continues before the fork’s first turn: the fork does not get the new messages', async () => {
  const model = await world.model({ answers: ['I noted the heron.', 'I noted the pelican.', 'On with it.'] })
  const host = world.host([new MessagesApiHarness({ environment: world.environment(model) })])
  const { id, session } = await open(host)
  await say(session, 'The first bird is a heron.')
  const forked = await host.forkSession(id)
  expect(forked.forkedFrom).toMatchObject({ history: 'whole' })
  await say(session, 'The second bird is a pelican.')
  const before = model.requests.length
  await say(await host.session(forked.id), 'Which birds?')
  const [body] = bodiesAfter(model, before)
  expect(body).toContain('I noted the heron.')
  expect(body).not.toContain('pelican')
  expect(body).not.toContain(OPENING)
})

test('a turn of codex exec has no fork point, so a fork after it gets a written account', async () => {
  const model = await world.model({ answers: ['I noted the heron.', 'I noted the pelican.', 'On with it.'] })
  const codex = new CodexHarness({ ...world.codexConfig(model), voice: 'exec' })
  const host = world.host([codex])
  const { id, session } = await open(host)
  await say(session, 'The first bird is a heron.')
  const atSeq = session.log.lastSeq
  await say(session, 'The second bird is a pelican.')
  expect(await host.forkHistory(id, { atSeq })).toBe('account')
  const before = model.requests.length
  await say(await host.session((await host.forkSession(id, { atSeq })).id), 'Which birds?')
  expect(bodiesAfter(model, before)[0]).toContain(OPENING)
  expect(bodiesAfter(model, before)[0]).not.toContain('pelican')
})

async function open(host: SessionHost) {
  const { id } = await host.createSession(world.project, { mode: 'direct' })
  return { id, session: await host.session(id) }
}

async function say(session: LiveSession, message: string): Promise<void> {
  await session.start(message, { permissionMode: 'dontAsk', autoApproveTools: ['Bash'] })
  await session.settled()
}
