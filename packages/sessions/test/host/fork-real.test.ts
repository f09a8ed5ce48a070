import type { SessionHarness } from '@chirality/core'
import { claudeBinary } from '@chirality/fixtures'
import { MessagesApiHarness } from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import type { ScriptedModel } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

const AGENTS: [string, (model: ScriptedModel) => SessionHarness][] = [
  ['Claude Code', model => world.claude(model, { keepAlive: true })],
  ['Codex', model => world.codex(model)],
  [
    'the Agent SDK',
    model => new AgentSdkHarness({ binaryPath: claudeBinary(), environment: world.environment(model) }),
  ],
  ['the Messages API', model => new MessagesApiHarness({ environment: world.environment(model) })],
]

test.each(AGENTS)(
  '%s: a fork at an earlier point knows what is shown, and nothing later',
  async (_name, make) => {
    const model = await world.model({
      answers: ['I noted the heron.', 'I noted the pelican.', 'On with it.', 'Still on with it.'],
    })
    const host = world.host([make(model)])
    const { id } = await host.createSession(world.project, { mode: 'direct' })
    const session = await host.session(id)
    await session.start('The first bird is a heron.')
    await session.settled()
    const atSeq = eventsOf(session).findIndex(({ type }) => type === 'turn:end') + 1
    await session.start('The second bird is a pelican.')
    await session.settled()

    const forked = await host.forkSession(id, { atSeq })
    expect(forked.forkedFrom).toMatchObject({ sessionId: id, seq: atSeq, history: 'account' })
    const fork = await host.session(forked.id)
    const before = model.requests.length
    await fork.start('Which birds?')
    await fork.settled()
    await fork.start('And now?')
    await fork.settled()

    const asked = model.requests
      .slice(before)
      .filter(({ served }) => served !== '' && !served.startsWith('side:'))
    const bodies = asked.map(({ body }) => JSON.stringify(body))
    expect(bodies).toHaveLength(2)
    for (const body of bodies) {
      expect(body).not.toContain('pelican')
      expect(body.split('The first bird is a heron.')).toHaveLength(2)
      expect(body.split('I noted the heron.')).toHaveLength(2)
      expect(body).toContain('Which birds?')
    }
    expect(bodies[1]).toContain('On with it.')
    const said = eventsOf(fork).flatMap(event => (event.type === 'turn:start' ? [event.message] : []))
    expect(said).toEqual(['The first bird is a heron.', 'Which birds?', 'And now?'])
  },
)
