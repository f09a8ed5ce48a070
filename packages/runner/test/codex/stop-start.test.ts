import type { HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { PATIENT } from '../support/world.ts'
import { collect, collectAnd, expectOneEnd, fileAppears, ofType } from './support/events.ts'
import { type HarnessOptions, useWorld } from './support/world.ts'

const world = useWorld()

const WAYS = [
  { how: 'interrupt', reason: 'interrupted' },
  { how: 'kill', reason: 'killed' },
] as const
const THREAD = '00000000-0000-4000-8000-00000000c0de'
const isDelta = (event: UIEvent) => event.type === 'chat:delta'

/** What an app-server leaves unanswered before the turn has begun. */
const STAGES: {
  request: string
  session?: Partial<Session>
  options?: HarnessOptions
  opts?: HarnessTurnOpts
}[] = [
  { request: 'initialize' },
  { request: 'account/login/start', options: { environment: { CODEX_API_KEY: 'sk-none' } } },
  { request: 'thread/start' },
  { request: 'thread/resume', session: { claudeSessionId: THREAD } },
  {
    request: 'thread/inject_items',
    session: { claudeSessionId: THREAD },
    opts: { systemPromptAppend: 'Be brief.' },
  },
]

/** All time limits are those of a patient world: what waits for one of them fails by the test's own. */
function start({ request, session: fields, options, opts }: (typeof STAGES)[number]) {
  const binaryPath = world.fake('fake-codex', `ignores:${request}`)
  const harness = world.harness({ ...options, binaryPath })
  const session = world.session(fields)
  const turn = () => collect(harness.startTurn(session, 'Hi', opts))
  return { harness, session, turn, hangs: () => fileAppears(`${binaryPath}.hangs`) }
}

describe.each(STAGES)('a server that does not answer $request', stage => {
  test.each(WAYS)('$how ends the turn before it began, and the server', async row => {
    const { harness, session, turn, hangs } = start(stage)
    const reading = turn()
    await hangs()
    await harness[row.how](session.id)
    const events = await reading
    expect(expectOneEnd(events, 'app-server')).toEqual({ reason: row.reason })
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'interrupted' }])
    expect(harness.isRunning(session.id)).toBe(false)
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('close ends it', async () => {
    const { harness, turn, hangs } = start(stage)
    const reading = turn()
    await hangs()
    await harness.close()
    expect(expectOneEnd(await reading, 'app-server')).toEqual({ reason: 'killed' })
    expect(await findByMarker(world.marker)).toEqual([])
  })
})

test('a signal ends a turn whose server does not answer', async () => {
  const leaving = new AbortController()
  const { turn, hangs } = start({ request: 'initialize', opts: { signal: leaving.signal } })
  const reading = turn()
  await hangs()
  leaving.abort()
  expect(expectOneEnd(await reading, 'app-server')).toEqual({ reason: 'interrupted' })
  expect(await findByMarker(world.marker)).toEqual([])
})

test.each(WAYS)('$how ends a turn that waits for a server that is started ahead', async row => {
  const { harness, session, turn, hangs } = start({ request: 'initialize' })
  const prewarming = harness.prewarm?.(session)
  await hangs()
  const reading = turn()
  await harness[row.how](session.id)
  expect(expectOneEnd(await reading, 'app-server')).toEqual({ reason: row.reason })
  await prewarming
  expect(await findByMarker(world.marker)).toEqual([])
})

test('a turn that is stopped takes nothing from another that waits for the same server', async () => {
  const { harness, session, turn, hangs } = start({ request: 'initialize' })
  const other = world.session()
  const reading = turn()
  await hangs()
  const others = collect(harness.startTurn(other, 'Hi'))
  // Until the other waits for it, too.
  await new Promise(setImmediate)
  harness.interrupt(session.id)
  expect(expectOneEnd(await reading, 'app-server')).toEqual({ reason: 'interrupted' })
  expect(harness.isRunning(other.id)).toBe(true)
  harness.interrupt(other.id)
  expect(expectOneEnd(await others, 'app-server')).toEqual({ reason: 'interrupted' })
  expect(await findByMarker(world.marker)).toEqual([])
})

test('an interrupt ends a server that does not say whether it began the turn', async () => {
  const stop = { ...PATIENT, interruptGraceMs: 1 }
  const { harness, session, turn, hangs } = start({ request: 'turn/start', options: { stop } })
  const reading = turn()
  await hangs()
  harness.interrupt(session.id)
  expect(expectOneEnd(await reading, 'app-server')).toEqual({ reason: 'interrupted' })
  expect(await findByMarker(world.marker)).toEqual([])
})

test('an interrupt ends a server that ends the turn and does not say whether its commands are gone', async () => {
  const request = 'thread/backgroundTerminals/clean'
  // Long enough for the turn's end; if it is not, the server is ended before it is asked, and the outcome is the same.
  const stop = { ...PATIENT, interruptGraceMs: 500 }
  const { harness, session } = start({ request, options: { stop } })
  const all = await collectAnd(harness.startTurn(session, 'Hi'), isDelta, () => harness.interrupt(session.id))
  expect(expectOneEnd(all, 'app-server')).toEqual({ reason: 'interrupted' })
  expect(await findByMarker(world.marker)).toEqual([])
})
