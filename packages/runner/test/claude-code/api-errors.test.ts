import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { collect, expectOneEnd, modelRequests, ofType, statuses } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeVersions())('errors of the API through Claude Code $version', ({ path: binary }) => {
  test.each([
    { status: 400, code: 'invalid_request' },
    { status: 401, code: 'auth_failed' },
    { status: 403, code: 'auth_failed' },
    { status: 404, code: 'model_not_found' },
    { status: 413, code: 'invalid_request' },
    { status: 429, code: 'rate_limited' },
    { status: 500, code: 'api_error' },
    { status: 529, code: 'overloaded' },
  ])('$status is $code', async ({ status, code }) => {
    // The header is how the API itself says that trying again is no use.
    const error = { status, headers: { 'x-should-retry': 'false' } }
    const model = await world.model({ otherwise: { error } })
    const env = { CLAUDE_CODE_MAX_RETRIES: '0' }
    const events = await collect(world.harness(binary, { model }).startTurn(world.session(), 'Hi', { env }))
    expect(expectOneEnd(events)).toEqual({ reason: 'failed' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code, apiStatus: status }])
    expect(ofType(events, 'session:error')[0]?.error).not.toBe('')
    expect(ofType(events, 'session:complete')).toEqual([])
    expect(events.at(-1)).toMatchObject({ code: 1 })
  })

  test('retries are shown while they happen, and the turn recovers', async () => {
    const model = await world.model({
      answers: [
        { error: { status: 429, retryAfterSeconds: 0 } },
        { error: { status: 529, retryAfterSeconds: 0 } },
        'At last.',
      ],
    })
    const events = await collect(world.harness(binary, { model }).startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'completed' })
    expect(statuses(events, 'retrying').map(({ data }) => data?.apiStatus)).toEqual([429, 529])
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'At last.' }])
    expect(ofType(events, 'session:error')).toEqual([])
    const order = events.map(event => (event.type === 'status' ? event.status : event.type))
    expect(order.lastIndexOf('retrying')).toBeLessThan(order.indexOf('chat:delta'))
  })

  test('an agent that is not logged in says so, and asks no model', async () => {
    const model = await world.model({})
    const harness = world.harness(binary, { model, environment: { ANTHROPIC_API_KEY: undefined } })
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events)).toEqual({ reason: 'failed' })
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'auth_failed', error: expect.stringContaining('Not logged in') },
    ])
    expect(modelRequests(model)).toEqual([])
  })

  test('an endpoint that refuses connections is an API error', async () => {
    const env = { CLAUDE_CODE_MAX_RETRIES: '0' }
    const events = await collect(world.harness(binary).startTurn(world.session(), 'Hi', { env }))
    expect(expectOneEnd(events)).toEqual({ reason: 'failed' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'api_error' }])
  })

  test('the same errors in a query', async () => {
    const model = await world.model({ otherwise: { error: 403 } })
    const events = await collect(world.harness(binary, { model }).query(world.query()))
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'auth_failed' })
    expect(events.filter(({ type }) => type === 'complete')).toEqual([])
  })
})
