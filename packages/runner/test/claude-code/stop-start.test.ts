import { claudeBinary } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { collect, fileAppears, ofType } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

const FORMS = [{ keepAlive: true }, { keepAlive: false }]
const WAYS = [
  { how: 'interrupt', reason: 'interrupted' },
  { how: 'kill', reason: 'killed' },
] as const
/** With it the agent is asked for its version before it is started. */
const RESUMED = { claudeSessionId: '5e551011-0000-4000-8000-000000000000' }
const PERSONA = { systemPromptAppend: 'Be brief.' }

/** All time limits are those of a patient world: what waits for one of them fails by the test's own. */
function start(where: 'version' | 'version-once' | 'started', config: { keepAlive: boolean }) {
  const binary = world.fake('fake-claude-hangs', where)
  const harness = world.harness(binary, config)
  world.atEnd(() => harness.close())
  const session = world.session(RESUMED)
  return { harness, session, hangs: () => fileAppears(`${binary}.hangs`) }
}

describe.each(FORMS)('before Claude Code is started, keepAlive $keepAlive', form => {
  test.each(WAYS)('$how while its version is asked for ends the turn, and the question', async row => {
    const { harness, session, hangs } = start('version', form)
    const reading = collect(harness.startTurn(session, 'Go', PERSONA))
    await hangs()
    await harness[row.how](session.id)
    const events = await reading
    const last = form.keepAlive ? ['turn:end'] : ['turn:end', 'process:exit']
    expect(events.map(({ type }) => type)).toEqual(['turn:start', 'session:error', ...last])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: row.reason }])
    expect(await findByMarker(world.marker)).toEqual([])
    expect(world.spools()).toEqual([])
  })

  test('an aborted signal ends the turn, and starts no agent', async () => {
    const { harness, session, hangs } = start('version', form)
    const leaving = new AbortController()
    const reading = collect(harness.startTurn(session, 'Go', { ...PERSONA, signal: leaving.signal }))
    await hangs()
    leaving.abort()
    expect(ofType(await reading, 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('closing the harness starts no agent', async () => {
    const { harness, session, hangs } = start('version', form)
    const reading = collect(harness.startTurn(session, 'Go', PERSONA))
    await hangs()
    await harness.close()
    expect(await findByMarker(world.marker)).toEqual([])
    expect(ofType(await reading, 'turn:end')).toMatchObject([{ reason: 'killed' }])
  })
})

test('a query that is aborted while the version is asked for ends at once', async () => {
  const { harness, hangs } = start('version', { keepAlive: false })
  const leaving = new AbortController()
  const { systemPromptAppend: appendSystemPrompt } = PERSONA
  const query = world.query({
    resumeSessionId: RESUMED.claudeSessionId,
    appendSystemPrompt,
    signal: leaving.signal,
  })
  const reading = collect(harness.query(query))
  await hangs()
  leaving.abort()
  expect(await reading).toEqual([])
})

describe('while an agent is started ahead', () => {
  test.each(WAYS)('$how ends a turn that waits for the same start, and the start', async row => {
    const { harness, session, hangs } = start('version', { keepAlive: true })
    const prewarming = harness.prewarm?.(session, PERSONA)
    await hangs()
    const reading = harness.startTurn(session, 'Go', PERSONA)
    const first = reading.next()
    await harness[row.how](session.id)
    const events = [(await first).value, ...(await collect(reading))]
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: row.reason })
    await prewarming
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('kill ends a turn that joined it, and the agent', async () => {
    const { harness, session, hangs } = start('started', { keepAlive: true })
    const prewarming = harness.prewarm?.(session)
    await hangs()
    const events = harness.startTurn(session, 'Go')
    expect(await events.next()).toMatchObject({ value: { type: 'turn:start' } })
    const rest = collect(events)
    await harness.kill(session.id)
    expect(ofType(await rest, 'turn:end')).toMatchObject([{ reason: 'killed' }])
    await prewarming
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('close ends it', async () => {
    const { harness, session, hangs } = start('version', { keepAlive: true })
    const prewarming = expect(harness.prewarm?.(session, PERSONA)).rejects.toMatchObject({ code: 'aborted' })
    await hangs()
    await harness.close()
    await prewarming
    expect(await findByMarker(world.marker)).toEqual([])
  })
})

test('a turn after one that was stopped at its start begins anew', async () => {
  const { harness, session, hangs } = start('version-once', { keepAlive: true })
  const reading = collect(harness.startTurn(session, 'Go', PERSONA))
  await hangs()
  harness.interrupt(session.id)
  await reading
  // It says its version now, and hangs when it is started.
  const next = harness.startTurn(session, 'Again')
  expect(await next.next()).toMatchObject({ value: { type: 'turn:start' } })
  expect(await findByMarker(world.marker)).toHaveLength(1)
  const rest = collect(next)
  await harness.kill(session.id)
  expect(ofType(await rest, 'turn:end')).toMatchObject([{ reason: 'killed' }])
})

test('kill does not wait for the exit hooks of an agent that has answered', async () => {
  const model = await world.model({ answers: ['Done.'] })
  const harness = world.harness(claudeBinary(), { model, keepAlive: true })
  world.atEnd(() => harness.close())
  const session = world.session()
  const all = []
  // With a budget the process is ended with its turn.
  for await (const event of harness.startTurn(session, 'Go', { maxBudgetUsd: 5 })) {
    all.push(event)
    if (event.type === 'session:complete') await harness.kill(session.id)
  }
  expect(all.slice(-2)).toMatchObject([{ type: 'turn:end', reason: 'completed' }, { type: 'process:exit' }])
  expect(await findByMarker(world.marker)).toEqual([])
})
