import type { HarnessTurnOpts } from '@chirality/core'
import type { ScriptAnswer } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { ofType } from '../support/turns.ts'
import { endOf, turnOf, useApiWorld } from './support/world.ts'

const world = useApiWorld()

describe('what fails', () => {
  test.each<[string, ScriptAnswer, string]>([
    ['a wrong key', { error: 401 }, 'auth_failed'],
    ['no right', { error: 403 }, 'auth_failed'],
    ['no such model', { error: 404 }, 'model_not_found'],
    ['a bad request', { error: { status: 400, message: 'messages: no' } }, 'invalid_request'],
    ['no money', { error: { status: 400, message: 'Your credit balance is too low' } }, 'billing'],
    [
      'a long prompt',
      { error: { status: 400, message: 'prompt is too long: 9 tokens > 8' } },
      'context_overflow',
    ],
    ['too much at once', { error: { status: 429, headers: { 'x-should-retry': 'false' } } }, 'rate_limited'],
    ['an overloaded API', { error: { status: 529, headers: { 'x-should-retry': 'false' } } }, 'overloaded'],
    ['a broken API', { error: { status: 500, headers: { 'x-should-retry': 'false' } } }, 'api_error'],
    ['a refusal', { text: 'No.', stopReason: 'refusal' }, 'refused'],
    ['a full window', { text: 'x', stopReason: 'model_context_window_exceeded' }, 'context_overflow'],
  ])('%s', async (_what, answer, code) => {
    const { harness } = await world.open({ answers: [answer] })
    const events = await turnOf(harness, world.session(), 'Go')
    expect(endOf(events)).toBe('failed')
    expect(ofType(events, 'session:error')).toMatchObject([{ code }])
    expect(ofType(events, 'chat:complete')).toEqual([])
  })

  test('an unreachable API', async () => {
    const environment = world.environment({ url: 'http://127.0.0.1:9' })
    const { harness } = await world.open({ answers: [] }, { environment, maxRetries: 0 })
    const events = await turnOf(harness, world.session(), 'Go')
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'api_error', error: expect.stringContaining('connection') },
    ])
  })

  test.each<[string, HarnessTurnOpts & { message?: string }, Record<string, string>, string]>([
    ['an empty prompt', { message: ' \n' }, {}, 'invalid_query'],
    ['no key', {}, { ANTHROPIC_API_KEY: '' }, 'auth_failed'],
    ['an address that is none', {}, { ANTHROPIC_BASE_URL: 'nowhere' }, 'invalid_query'],
    ['a folder that is not there', { additionalDirectories: ['/no/such/folder'] }, {}, 'invalid_query'],
    [
      'an image of another kind',
      { images: [{ type: 'image', source: { kind: 'path', path: 'x', mediaType: 'image/tiff' } }] },
      {},
      'invalid_query',
    ],
    ['an MCP server', { mcpServers: { x: { type: 'stdio', command: 'true' } } }, {}, 'unsupported'],
    [
      'a client tool without a name',
      {
        clientTools: [
          { name: '', description: '', inputSchema: { type: 'object' }, handler: async () => ({}) },
        ],
      },
      {},
      'invalid_query',
    ],
  ])(
    '%s throws before the turn begins, and leaves no log',
    async (_what, { message = 'Go', ...opts }, env, code) => {
      const { model } = await world.open({ answers: [] })
      const { harness } = await world.open(
        { answers: [] },
        { environment: { ...world.environment(model), ...env } },
      )
      await expect(turnOf(harness, world.session(), message, opts)).rejects.toMatchObject({ code })
      expect(world.spools()).toEqual([])
    },
  )
})
