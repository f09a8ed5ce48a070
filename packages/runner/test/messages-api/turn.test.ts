import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts } from '@chirality/core'
import type { ScriptAnswer } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { PIXEL_PNG as PNG } from '../support/images.ts'
import { collect, ofType, statuses } from '../support/turns.ts'
import { DUMMY_KEY, endOf, sentMessages, turnOf, useApiWorld } from './support/world.ts'

const world = useApiWorld()

describe('a turn', () => {
  test('has the events of every harness, in their order', async () => {
    const { harness } = await world.open({
      answers: [
        {
          thinking: 'Let me look.',
          text: 'I read it.',
          tool: 'read',
          input: { file_path: 'a.txt' },
          id: 'c1',
        },
        'It says hello.',
      ],
    })
    writeFileSync(path.join(world.project, 'a.txt'), 'hello\nthere\n')
    const session = world.session()
    const events = await turnOf(harness, session, 'What does a.txt say?')
    expect(endOf(events)).toBe('completed')
    const order = events.map(event => (event.type === 'status' ? event.status : event.type))
    expect(order.filter((type, index) => type !== order[index - 1])).toEqual([
      'turn:start',
      'session:init',
      'requesting',
      'chat:thinking',
      'chat:delta',
      'chat:message',
      'tool:start',
      'tool:input',
      'usage',
      'tool:result',
      'requesting',
      'chat:delta',
      'chat:message',
      'usage',
      'chat:complete',
      'session:complete',
      'turn:end',
    ])
    expect(ofType(events, 'session:init')).toMatchObject([
      {
        harness: 'messages-api',
        claudeSessionId: session.claudeSessionId,
        model: 'claude-sonnet-5-5',
        permissionMode: 'dontAsk',
        tools: ['read', 'write', 'edit', 'bash', 'glob', 'grep', 'list'],
        apiKeySource: 'ANTHROPIC_API_KEY',
      },
    ])
    expect(ofType(events, 'tool:result')).toMatchObject([
      { toolUseId: 'c1', isError: false, content: '     1\thello\n     2\tthere' },
    ])
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'It says hello.' }])
    expect(events.every(({ sessionId }) => sessionId === session.id)).toBe(true)
  })

  test('costs what its answers cost, by the list or by the prices given', async () => {
    const usage = { input: 1000, output: 100, cacheRead: 2000, cacheWrite: 400 }
    const answers: ScriptAnswer[] = [
      { tool: 'list', input: {}, usage },
      { text: 'Done.', usage },
    ]
    const prices = { 'claude-sonnet': { input: 1e6, output: 0, cacheRead: 0, cacheWrite: 0 } }
    const listed = await world.open({ answers })
    const [complete] = ofType(await turnOf(listed.harness, world.session(), 'Go'), 'session:complete')
    const dollars = (2 * (1000 * 2 + 100 * 10 + 2000 * 0.1 + 400 * 2.5)) / 1e6
    expect(complete?.costUsd).toBeCloseTo(dollars, 9)
    expect(complete).toMatchObject({
      numTurns: 2,
      usage: {
        input_tokens: 2000,
        output_tokens: 200,
        cache_read_input_tokens: 4000,
        cache_creation_input_tokens: 800,
      },
    })
    const other = await world.open({ answers }, { prices })
    const events = await turnOf(other.harness, world.session(), 'Go')
    expect(ofType(events, 'session:complete')).toMatchObject([{ costUsd: 2000 }])
  })

  test('keeps every event of the API in its raw log, and no key', async () => {
    const { harness } = await world.open({ answers: [{ text: 'one two three', chunkChars: 4 }] })
    await turnOf(harness, world.session(), 'Go', { turnId: 'turn-7' })
    const [spool = ''] = world.spools()
    expect(spool).toContain('turn-7')
    const text = readFileSync(spool, 'utf8')
    const lines = text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { type: string; event?: { type: string } })
    expect(lines.map(({ type, event }) => event?.type ?? type)).toEqual([
      'system',
      'user',
      'request',
      'system',
      'message_start',
      'ping',
      'content_block_start',
      ...Array.from({ length: 4 }, () => 'content_block_delta'),
      'content_block_stop',
      'assistant',
      'message_delta',
      'message_stop',
      'result',
    ])
    expect(text).not.toContain(DUMMY_KEY)
    expect(JSON.stringify(world.logs)).not.toContain(DUMMY_KEY)
  })

  test('without partial messages the same is said in one piece', async () => {
    const { harness } = await world.open({
      answers: [{ thinking: 'Hm.', text: 'one two', tool: 'list', input: {} }, 'Done.'],
    })
    const events = await turnOf(harness, world.session(), 'Go', { includePartialMessages: false })
    expect(ofType(events, 'chat:delta')).toEqual([])
    expect(ofType(events, 'tool:start')).toMatchObject([{ name: 'list', input: {} }])
    expect(ofType(events, 'chat:message').map(({ text }) => text)).toEqual(['one two', 'Done.'])
    expect(endOf(events)).toBe('completed')
  })

  test('a stream that breaks is said again, and what was said of it withdrawn', async () => {
    const { harness } = await world.open({
      answers: [
        { blocks: [{ text: 'whole' }, { text: 'half of it' }], chunkChars: 5, cutAfter: 2 },
        { blocks: [{ text: 'second' }, { text: 'try' }] },
      ],
    })
    const events = await turnOf(harness, world.session(), 'Go')
    expect(statuses(events, 'retrying')).toHaveLength(1)
    const messages = ofType(events, 'chat:message')
    expect(messages.filter(({ discarded }) => discarded).length).toBeGreaterThanOrEqual(1)
    const left = new Map(
      messages.map(message => [message.messageId, message.discarded ? null : message.text]),
    )
    expect([...left.values()].filter(text => text !== null)).toEqual(['second', 'try'])
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'secondtry' }])
  })

  test('an unknown event is kept, shown as drift, and harmless', async () => {
    const raw = { type: 'from_the_future', value: 1 }
    const { harness } = await world.open({ answers: [{ blocks: [{ raw }, { text: 'Still here.' }] }] })
    const events = await turnOf(harness, world.session(), 'Go')
    expect(ofType(events, 'native:unknown')).toMatchObject([{ harness: 'messages-api' }])
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'Still here.' }])
  })

  test('images and documents are sent with the prompt', async () => {
    const { harness, model } = await world.open({ answers: ['A picture.'] })
    const image = {
      type: 'image' as const,
      source: { kind: 'base64' as const, data: PNG, mediaType: 'image/png' },
    }
    const data = Buffer.from('some text').toString('base64')
    const document = {
      type: 'document' as const,
      source: { kind: 'base64' as const, data, mediaType: 'text/plain' },
    }
    const events = await turnOf(harness, world.session(), 'Look', { images: [image, document] })
    expect(events[0]).toMatchObject({ type: 'turn:start', message: 'Look', attachments: 2 })
    expect(sentMessages(model)[0]?.content).toMatchObject([
      { type: 'text', text: 'Look' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'some text' } },
    ])
  })

  test('a schema is asked for, and its answer parsed', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } } }
    const { harness, model } = await world.open({ answers: ['{"n": 7}', 'seven'] })
    const events = await turnOf(harness, world.session(), 'Count', { outputSchema })
    expect(ofType(events, 'chat:complete')).toMatchObject([{ structuredOutput: { n: 7 } }])
    expect(model.requests[0]?.body).toMatchObject({
      output_config: { format: { type: 'json_schema', schema: outputSchema } },
    })
    const failed = await turnOf(harness, world.session(), 'Count', { outputSchema })
    expect(ofType(failed, 'session:error')).toMatchObject([{ code: 'structured_output' }])
  })

  test.each([
    ['claude-sonnet-5-5', { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }],
    [
      'claude-sonnet-4-5-20250929',
      { thinking: { type: 'enabled', budget_tokens: 10_000 }, max_tokens: 26_384 },
    ],
    ['claude-3-haiku-20240307', { max_tokens: 4096 }],
  ])('%s thinks in the words of its time', async (model, fields) => {
    const { harness, model: scripted } = await world.open({ answers: ['Hm.'] })
    await turnOf(harness, world.session(), 'Think', { model, thinking: 'med' })
    expect(scripted.requests[0]?.body).toMatchObject(fields)
  })

  test('commands see no credential of ours, and what they leave running ends with the turn', async () => {
    const { harness } = await world.open(
      {
        answers: [{ tool: 'bash', input: { command: 'env; sleep 600 & echo "pid $!"' } }, 'Done.'],
      },
      {},
    )
    const opts: HarnessTurnOpts = {
      permissionMode: 'bypassPermissions',
      env: { EXTRA: 'mine', ANTHROPIC_API_KEY: 'sk-ant-of-this-turn' },
    }
    const events = await turnOf(harness, world.session(), 'Go', opts)
    const [result] = ofType(events, 'tool:result')
    expect(result).toMatchObject({ isError: false, detail: { exitCode: 0 } })
    expect(result?.content).toContain('EXTRA=mine')
    expect(result?.content).not.toMatch(/ANTHROPIC|sk-ant/)
    expect(await findByMarker(world.marker)).toEqual([])
    expect(statuses(events, 'notice').map(({ message }) => message)).toEqual([
      expect.stringContaining('left behind'),
    ])
  })
})

test('an additional folder is as good as the project, and another is not', async () => {
  const [extra, other] = ['extra', 'other'].map(name => path.join(world.root, name))
  for (const folder of [extra, other]) {
    mkdirSync(folder ?? '')
    writeFileSync(path.join(folder ?? '', 'a.txt'), 'found')
  }
  const { harness } = await world.open({
    answers: [
      { tool: 'read', input: { file_path: `${extra}/a.txt` } },
      { tool: 'grep', input: { pattern: 'found', path: extra } },
      { tool: 'read', input: { file_path: `${other}/a.txt` } },
      'Done.',
    ],
  })
  const events = await turnOf(harness, world.session(), 'Go', { additionalDirectories: [extra ?? ''] })
  expect(ofType(events, 'tool:result').map(({ isError }) => isError)).toEqual([false, false, true])
})

describe('limits', () => {
  test('the limit of requests ends the turn', async () => {
    const { harness } = await world.open({ answers: [{ tool: 'list', input: {}, times: 9 }] })
    const events = await turnOf(harness, world.session(), 'Go', { maxTurns: 2 })
    expect(endOf(events)).toBe('max_turns')
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'max_turns', costUsd: expect.any(Number) },
    ])
  })

  test('of requests, none when none is wanted', async () => {
    const { harness } = await world.open({ answers: [{ tool: 'list', input: {}, times: 30 }, 'Done.'] })
    const events = await turnOf(harness, world.session(), 'Go', { maxTurns: null })
    expect(endOf(events)).toBe('completed')
    expect(ofType(events, 'tool:result')).toHaveLength(30)
  })

  test('of money, which is not asked for in vain', async () => {
    const usage = { input: 1_000_000, output: 0 }
    const { harness, model } = await world.open({ answers: [{ tool: 'list', input: {}, usage, times: 9 }] })
    const events = await turnOf(harness, world.session(), 'Go', { maxBudgetUsd: 3 })
    expect(endOf(events)).toBe('budget')
    expect(model.requests).toHaveLength(2)
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'budget_exceeded', costUsd: 4 }])
    // Without a price each million of tokens counts as $10, and no cost is stated that nobody knows.
    const unknown = await turnOf(harness, world.session(), 'Go', {
      maxBudgetUsd: 5,
      model: 'of-unknown-price',
    })
    expect(endOf(unknown)).toBe('budget')
    expect(model.requests).toHaveLength(3)
    const [failed] = ofType(unknown, 'session:error')
    expect(failed?.costUsd ?? 0).toBe(0)
  })

  test('of money, by the prices that are given, as they are for each turn', async () => {
    let price = { input: 100, output: 100, cacheRead: 0, cacheWrite: 0 }
    const usage = { input: 10_000, output: 0 }
    const answers = [
      { text: 'One.', usage },
      { text: 'Two.', usage },
    ]
    const { harness } = await world.open({ answers }, { prices: () => ({ 'my-model': price }) })
    const cost = async () => {
      const events = await turnOf(harness, world.session(), 'Go', { model: 'my-model' })
      return ofType(events, 'session:complete')[0]?.costUsd
    }
    expect(await cost()).toBe(1)
    price = { ...price, input: 200 }
    expect(await cost()).toBe(2)
  })
})

test('a token for a gateway goes where it belongs, and a turn may bring its own', async () => {
  const { model } = await world.open({ answers: ['One.', 'Two.'] })
  const gateway = { ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: ' token\n' }
  const environment = { ...world.environment(model), ...gateway }
  const { harness } = await world.open({ answers: [] }, { environment })
  const events = await turnOf(harness, world.session(), 'Go')
  expect(ofType(events, 'session:init')).toMatchObject([{ apiKeySource: 'ANTHROPIC_AUTH_TOKEN' }])
  await turnOf(harness, world.session(), 'Go', { env: { ANTHROPIC_AUTH_TOKEN: 'other' } })
  expect(model.requests.map(({ headers }) => [headers.authorization, headers['x-api-key']])).toEqual([
    ['Bearer token', undefined],
    ['Bearer other', undefined],
  ])
})

test('the status says whether there is a key; nothing has to be installed', async () => {
  const { harness, model } = await world.open({ answers: [] })
  expect(await harness.checkInstallStatus()).toEqual({
    installed: true,
    authType: 'api-key',
    authenticated: true,
  })
  const bare = { ...world.environment(model), ANTHROPIC_API_KEY: '' }
  const other = await world.open({ answers: [] }, { environment: bare })
  expect(await other.harness.checkInstallStatus()).toMatchObject({ installed: true, authenticated: false })
  expect(await harness.discoverSlashCommands(process.cwd())).toEqual([])
})

describe('query', () => {
  test('gives the raw events, and how it ended', async () => {
    const { harness } = await world.open({ answers: ['Hello.', 'Again.'] })
    const events = await collect(harness.query(world.query()))
    expect(events[0]).toMatchObject({ type: 'session_started' })
    expect(events.at(-1)).toMatchObject({ type: 'complete', usage: { costUsd: expect.any(Number) } })
    const resumeSessionId = events[0]?.type === 'session_started' ? events[0].sessionId : ''
    const next = await collect(harness.query(world.query({ resumeSessionId })))
    expect(next.at(-1)).toMatchObject({ type: 'complete' })
  })

  test('a failure, a lost conversation and an abort', async () => {
    const { harness, model } = await world.open({ answers: [{ error: 401 }, { text: 'x', stallAfter: 0 }] })
    expect((await collect(harness.query(world.query()))).at(-1)).toMatchObject({
      type: 'error',
      code: 'auth_failed',
    })
    const lost = await collect(harness.query(world.query({ resumeSessionId: 'gone' })))
    expect(lost).toMatchObject([{ type: 'error', code: 'session_not_found' }])
    const stop = new AbortController()
    const aborted = collect(harness.query(world.query({ signal: stop.signal })))
    await model.waitForRequest(({ state }) => state === 'stalled')
    stop.abort()
    expect((await aborted).at(-1)?.type).toBe('message')
  })
})
