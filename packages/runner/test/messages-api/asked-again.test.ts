import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, PermissionRequestEvent } from '@chirality/core'
import type { Script } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { useHosts } from '../support/host.ts'
import { collect, ofType } from '../support/turns.ts'
import { endOf, sentMessages, turnOf, useApiWorld } from './support/world.ts'

// A request that was open when Chirality was killed: nothing ran, and the next message asks about the same call again.

const world = useApiWorld()
const hosts = useHosts()
const ASKING = { permissionMode: 'default' } as const

/** Three calls, of which the first is done and the second waits when the host is killed. */
const CALLS: Script['answers'] = [
  {
    blocks: [
      { tool: 'list', input: {}, id: 'first' },
      { tool: 'bash', input: { command: 'echo ran >> a.txt' }, id: 'waiting' },
      { tool: 'bash', input: { command: 'touch b.txt' }, id: 'later' },
    ],
  },
]

async function killedWhileAsking() {
  const { harness, model } = await world.open({ answers: [...(CALLS ?? []), 'Here again.', 'And on.'] })
  const session = world.session()
  const kill = async (message: string) => {
    const place = { home: world.home, marker: world.marker }
    const start = { agent: 'messages-api', place, message, model, session, opts: ASKING } as const
    const host = hosts.start({ ...start, decision: 'never' })
    world.atEnd(() => host.kill())
    const request = await host.tells(({ type }) => type === 'permission:request')
    await host.kill()
    const events = await collect(harness.adoptTurn(session, host.trace()))
    expect(endOf(events)).toBe('crashed')
    session.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    return request
  }
  await kill('Go')
  return { harness, model, session, kill }
}

function results(model: Parameters<typeof sentMessages>[0]) {
  return sentMessages(model).flatMap(({ content }) =>
    content.flatMap(block => (block.type === 'tool_result' ? [[block.tool_use_id, block.content]] : [])),
  )
}

test.each(['allow', 'deny'] as const)('the next message asks again, and %s holds', async behavior => {
  const { harness, model, session } = await killedWhileAsking()
  const file = path.join(world.project, 'a.txt')
  expect(existsSync(file)).toBe(false)
  const asked: PermissionRequestEvent[] = []
  const events = await turnOf(harness, session, 'Go on', {
    ...ASKING,
    decide: async request => {
      asked.push(request)
      expect(existsSync(file)).toBe(false)
      expect(model.requests).toHaveLength(1)
      return { behavior }
    },
  })
  expect(asked).toMatchObject([
    {
      toolName: 'bash',
      input: { command: 'echo ran >> a.txt' },
      reason: expect.stringContaining('Asked again'),
    },
  ])
  expect(ofType(events, 'tool:start')).toMatchObject([{ name: 'bash', toolUseId: asked[0]?.toolUseId }])
  expect(asked[0]?.toolUseId).not.toBe('waiting')
  expect(ofType(events, 'tool:result')).toMatchObject([
    { toolUseId: asked[0]?.toolUseId, isError: behavior === 'deny' },
  ])
  expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(behavior === 'allow' && 'ran\n')
  expect(existsSync(path.join(world.project, 'b.txt'))).toBe(false)
  expect(results(model)).toEqual([
    ['first', expect.stringContaining('lost')],
    ['waiting', behavior === 'allow' ? expect.any(String) : expect.stringContaining('did not allow')],
    ['later', expect.stringContaining('Not executed')],
  ])
  expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Here again.' }])
  // Once is enough.
  const next = await turnOf(harness, session, 'And?', {
    ...ASKING,
    decide: async () => {
      throw new Error('asked a third time')
    },
  })
  expect(endOf(next)).toBe('completed')
})

test.each<[string, HarnessTurnOpts]>([
  ['everything is allowed by now', { permissionMode: 'bypassPermissions' }],
  ['nobody is asked', { permissionMode: 'dontAsk' }],
  ['nobody is there', {}],
])('where %s it does not run, and the model is told', async (_name, opts) => {
  const { harness, model, session } = await killedWhileAsking()
  const events = await turnOf(harness, session, 'Go on', opts)
  expect(ofType(events, 'permission:request')).toEqual([])
  expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
  expect(results(model)[1]).toEqual(['waiting', expect.stringMatching(/Not (executed|allowed)/)])
  expect(endOf(events)).toBe('completed')
})

test('a second kill while it is asked again loses no message', async () => {
  const { harness, model, session, kill } = await killedWhileAsking()
  await kill('Second message')
  const events = await turnOf(harness, session, 'Third message', {
    ...ASKING,
    decide: async () => ({ behavior: 'allow' }),
  })
  expect(ofType(events, 'permission:request')).toHaveLength(1)
  expect(readFileSync(path.join(world.project, 'a.txt'), 'utf8')).toBe('ran\n')
  const texts = sentMessages(model).flatMap(({ content }) => content.flatMap(({ text }) => text ?? []))
  expect(texts).toEqual(['Go', 'Second message', 'Third message'])
  // The results and both messages are one line of the transcript: no kill can come between them.
  const [, , finished] = sentMessages(model)
  expect(finished?.content.map(({ type, text }) => text ?? type)).toEqual([
    ...['tool_result', 'tool_result', 'tool_result', 'Second message', 'Third message'],
  ])
})

test('a stop while it is asked again runs nothing and keeps the message', async () => {
  const { harness, model, session } = await killedWhileAsking()
  const events = await turnOf(harness, session, 'Second message', {
    ...ASKING,
    decide: async () => {
      harness.interrupt(session.id)
      return new Promise(() => {})
    },
  })
  expect(endOf(events)).toBe('interrupted')
  expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
  await turnOf(harness, session, 'Third message', ASKING)
  const texts = sentMessages(model).flatMap(({ content }) => content.flatMap(({ text }) => text ?? []))
  expect(texts).toEqual(['Go', 'Second message', 'Third message'])
})
