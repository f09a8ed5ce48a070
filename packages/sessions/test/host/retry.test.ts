import type { TurnEndReason, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { answers, init, ScriptedHarness, type TurnScript } from '../support/scripted-harness.ts'

const world = useHostWorld()

function crashes(
  before: (sessionId: string) => UIEvent[] = () => [],
  reason: TurnEndReason = 'crashed',
): TurnScript {
  return async function* ({ session: { id: sessionId }, message }) {
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    yield* before(sessionId)
    yield { type: 'session:error', sessionId, error: 'It exited with code 1.', code: 'process_crashed' }
    yield { type: 'turn:end', sessionId, reason }
    yield { type: 'process:exit', sessionId, code: 1, signal: null }
  }
}

async function run(...scripts: TurnScript[]) {
  const harness = new ScriptedHarness(scripts)
  const host = world.host([harness])
  const session = await host.session((await host.createSession(world.project)).id)
  const { turnId } = await session.start('Go')
  await session.settled()
  const events = eventsOf(session)
  const ends = events.flatMap(event => (event.type === 'turn:end' ? [event.reason] : []))
  return { harness, events, ends, turnId, types: events.map(({ type }) => type) }
}

test('an agent that crashes before it answers is started once more, in the same turn', async () => {
  const { harness, events, ends, types, turnId } = await run(crashes(), answers('There.'))
  expect(harness.turns.map(({ opts, message }) => [opts.turnId, message])).toEqual([
    [turnId, 'Go'],
    [turnId, 'Go'],
  ])
  expect(ends).toEqual(['completed'])
  expect(types.filter(type => type === 'turn:start')).toHaveLength(1)
  expect(types).not.toContain('process:exit')
  expect(events.find(({ type }) => type === 'session:error')).toMatchObject({ recovered: true })
  expect(events).toContainEqual(expect.objectContaining({ type: 'status', status: 'retrying' }))
})

test('a turn that crashes twice is retried once only', async () => {
  const { harness, ends, events } = await run(crashes(), crashes())
  expect(harness.turns).toHaveLength(2)
  expect(ends).toEqual(['crashed'])
  expect(events.at(-1)).toMatchObject({ type: 'process:exit', code: 1 })
})

test.each<[string, (sessionId: string) => UIEvent[]]>([
  ['text', sessionId => [{ type: 'chat:delta', sessionId, text: 'I' }]],
  ['a tool', sessionId => [{ type: 'tool:start', sessionId, toolUseId: 't', name: 'Bash', input: {} }]],
  ['tokens', sessionId => [{ type: 'usage', sessionId, usage: { input_tokens: 1, output_tokens: 1 } }]],
  [
    'something unknown',
    sessionId => [{ type: 'native:unknown', sessionId, harness: 'x', nativeType: 'y', raw: 1 }],
  ],
])('a turn that had %s is never repeated: it was paid for', async (_name, before) => {
  const { harness, ends } = await run(crashes(before), answers('There.'))
  expect(harness.turns).toHaveLength(1)
  expect(ends).toEqual(['crashed'])
})

test.each(['malformed', 'oversize'])('lines that are no events (%s) are no answer', async nativeType => {
  const garbage = (sessionId: string): UIEvent[] => [
    { type: 'native:unknown', sessionId, harness: 'x', nativeType, raw: 'Segmentation fa' },
  ]
  const { harness, ends } = await run(crashes(garbage), answers('There.'))
  expect(harness.turns).toHaveLength(2)
  expect(ends).toEqual(['completed'])
})

test('a turn that failed in another way is not repeated', async () => {
  const { harness, ends } = await run(
    crashes(() => [], 'failed'),
    answers('There.'),
  )
  expect(harness.turns).toHaveLength(1)
  expect(ends).toEqual(['failed'])
})

test('a second attempt that cannot be started ends the turn', async () => {
  // biome-ignore lint/correctness/useYield: it never gets that far
  const gone: TurnScript = async function* () {
    throw new Error('The binary is gone.')
  }
  const { ends, events } = await run(crashes(), gone)
  expect(ends).toEqual(['crashed'])
  expect(events.at(-2)).toMatchObject({ error: expect.stringContaining('The binary is gone.') })
})
