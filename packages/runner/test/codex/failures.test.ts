import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { bodies, collect, expectOneEnd, ofType, statuses } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()

const NO_RETRIES = ['request_max_retries', 'stream_max_retries'].map(
  name => `model_providers.scripted.${name}=0`,
)

describe.each(VOICES)('what goes wrong behind Codex through $voice', ({ voice }) => {
  test.each([
    { status: 400, code: 'invalid_request' },
    { status: 401, code: 'auth_failed' },
    { status: 403, code: 'auth_failed' },
    { status: 404, code: 'model_not_found' },
    { status: 429, code: 'rate_limited' },
    { status: 500, code: 'api_error' },
    { status: 503, code: 'overloaded' },
  ])('$status of the API is $code', async ({ status, code }) => {
    const model = await world.model({ otherwise: { error: status } })
    const harness = world.harness({ model, voice, configOverrides: NO_RETRIES })
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'failed' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code, error: expect.stringMatching(/\w/) }])
    expect(ofType(events, 'session:complete')).toEqual([])
  })

  test('a session goes on after a turn that failed', async () => {
    const model = await world.model({ answers: [{ error: 400 }, 'Now it works.'] })
    const harness = world.harness({ model, voice, configOverrides: NO_RETRIES })
    const session = world.session()
    const failed = await collect(harness.startTurn(session, 'Hi'))
    expect(expectOneEnd(failed, voice)).toEqual({ reason: 'failed' })
    session.claudeSessionId = ofType(failed, 'session:init')[0]?.claudeSessionId ?? null
    const events = await collect(harness.startTurn(session, 'Again'))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(ofType(events, 'session:init')[0]?.claudeSessionId).toBe(session.claudeSessionId)
  })

  test('a broken stream is tried again, shown while it is, and overcome', async () => {
    const model = await world.model({
      answers: [{ text: 'Cut off in the middle.', chunkChars: 4, cutAfter: 2 }, 'Whole again.'],
    })
    const events = await collect(world.harness({ model, voice }).startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(statuses(events, 'retrying').length).toBeGreaterThan(0)
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Whole again.' }])
  })

  test('a turn without a network ends with a clear error instead of waiting forever', async () => {
    // Fewer tries than by default: without an end of ours even these would be repeated for ever.
    const configOverrides = [...NO_RETRIES, 'model_providers.scripted.stream_max_retries=2']
    const events = await collect(world.harness({ voice, configOverrides }).startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'failed' })
    expect(statuses(events, 'retrying').length).toBeGreaterThan(0)
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'api_error', error: expect.stringMatching(/127\.0\.0\.1:9|connection/i) },
    ])
  })

  test('a Codex home that cannot be written causes a clear error', async () => {
    const model = await world.model({ otherwise: 'Hello.' })
    const home = path.join(world.root, 'read-only')
    mkdirSync(home, { mode: 0o500 })
    // Root may write there all the same, but not where the system lets nobody.
    const CODEX_HOME = process.getuid?.() === 0 ? '/proc/sys' : home
    const harness = world.harness({ model, voice, environment: { CODEX_HOME } })
    const outcome = await collect(harness.startTurn(world.session(), 'Hi')).catch((error: unknown) => error)
    const told = Array.isArray(outcome) ? ofType(outcome, 'session:error')[0]?.error : String(outcome)
    expect(told).toMatch(/permission denied|read-only|not permitted|os error/i)
    expect(bodies(model)).toEqual([])
  })

  test('without a key of its own provider the turn fails as one of login', async () => {
    const model = await world.model({ otherwise: 'Never said.' })
    const harness = world.harness({ model, voice, environment: { SCRIPTED_MODEL_KEY: undefined } })
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'failed' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'auth_failed' }])
    expect(bodies(model)).toEqual([])
  })
})
