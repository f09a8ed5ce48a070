import { get } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Script, type ScriptedModel, startScriptedModel } from '../src/index.ts'
import { ask, events, parseSse, post, readUntilBroken, streamedText, userSays } from './client.ts'

async function start(script: Script): Promise<ScriptedModel> {
  const model = await startScriptedModel(script)
  onTestFinished(() => model.close())
  return model
}

describe('a streamed answer', () => {
  test('text comes as the events of the Messages API, in order', async () => {
    const model = await start({
      answers: [{ text: 'Hello there.', usage: { input: 7, output: 3, cacheRead: 2, cacheWrite: 1 } }],
    })
    const response = await ask(model)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('request-id')).toBe('req_1_a0')
    const usage = { input_tokens: 7, cache_creation_input_tokens: 1, cache_read_input_tokens: 2 }
    expect(await events(response)).toEqual([
      {
        type: 'message_start',
        message: {
          id: 'msg_1_a0',
          type: 'message',
          role: 'assistant',
          model: 'claude-test-1',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...usage, output_tokens: 1 },
        },
      },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello there.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { ...usage, output_tokens: 3 },
      },
      { type: 'message_stop' },
    ])
  })

  test('thinking, text and several tools come as blocks with their own deltas', async () => {
    const model = await start({
      answers: [
        {
          blocks: [
            { thinking: 'Hmm.', signature: 'c2ln' },
            { text: 'I look.' },
            { tool: 'Read', input: { file_path: 'a' }, id: 'toolu_mine' },
            { tool: 'Bash', input: { command: 'ls' } },
          ],
        },
      ],
    })
    const list = await events(ask(model))
    expect(
      list.filter(({ type }) => type === 'content_block_start').map(event => event.content_block),
    ).toEqual([
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'text', text: '' },
      { type: 'tool_use', id: 'toolu_mine', name: 'Read', input: {} },
      { type: 'tool_use', id: 'toolu_1_a0_3', name: 'Bash', input: {} },
    ])
    expect(list.filter(({ type }) => type === 'content_block_delta').map(event => event.delta)).toEqual([
      { type: 'thinking_delta', thinking: 'Hmm.' },
      { type: 'signature_delta', signature: 'c2ln' },
      { type: 'text_delta', text: 'I look.' },
      { type: 'input_json_delta', partial_json: '{"file_path":"a"}' },
      { type: 'input_json_delta', partial_json: '{"command":"ls"}' },
    ])
    expect(list.at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' } })
  })

  test('a string input is sent as it is, even if it is not JSON', async () => {
    const model = await start({ answers: [{ tool: 'Bash', input: '{"command": ' }] })
    expect(await events(ask(model))).toContainEqual({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"command": ' },
    })
  })

  test('a raw block passes through', async () => {
    const model = await start({
      answers: [{ blocks: [{ raw: { type: 'redacted_thinking', data: 'x' } }, { text: 'a' }] }],
    })
    expect(await events(ask(model))).toContainEqual({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'redacted_thinking', data: 'x' },
    })
  })

  test('chunkChars splits the deltas, but no surrogate pair', async () => {
    const model = await start({ answers: [{ text: 'ab😀cd', chunkChars: 3 }] })
    const deltas = (await events(ask(model))).filter(({ type }) => type === 'content_block_delta')
    expect(deltas.map(({ delta }) => (delta as { text: string }).text)).toEqual(['ab😀', 'cd'])
  })

  test('stopReason and headers are as written', async () => {
    const model = await start({
      answers: [
        { text: 'a', stopReason: 'max_tokens', headers: { 'anthropic-ratelimit-unified-status': 'allowed' } },
      ],
    })
    const response = await ask(model)
    expect(response.headers.get('anthropic-ratelimit-unified-status')).toBe('allowed')
    expect((await events(response)).at(-2)).toMatchObject({ delta: { stop_reason: 'max_tokens' } })
  })

  test('ids come from the place in the script, whatever else was asked in between', async () => {
    const ids = async (model: ScriptedModel, body = {}) => {
      const [, , block] = await events(ask(model, body))
      return (block?.content_block as { id?: string } | undefined)?.id
    }
    const tool = { tool: 'Bash', input: {} }
    const routes = [{ when: { hasTool: 'Bash' }, answers: [tool] }]
    const model = await start({ answers: [{ ...tool, times: 2 }], routes })
    await fetch(model.url, { method: 'HEAD' })
    expect(await ids(model)).toBe('toolu_1_a0_0')
    expect(await ids(model, { tools: [{ name: 'Bash' }] })).toBe('toolu_1_r0a0_0')
    expect(await ids(model)).toBe('toolu_1_a0x2_0')
    const next = await start({ answers: [tool] })
    const [message] = userSays('hello').messages as unknown[]
    expect(await ids(next, { messages: [message, message, message] })).toBe('toolu_3_a0_0')
  })
})

test('an answer that is not streamed has the same content', async () => {
  const model = await start({
    answers: [{ thinking: 'Hmm.', text: 'Hi', tool: 'Bash', input: { command: 'ls' }, usage: { output: 9 } }],
  })
  const response = await ask(model, { stream: false })
  expect(await response.json()).toEqual({
    id: 'msg_1_a0',
    type: 'message',
    role: 'assistant',
    model: 'claude-test-1',
    content: [
      { type: 'thinking', thinking: 'Hmm.', signature: 'c2NyaXB0ZWQtbW9kZWw=' },
      { type: 'text', text: 'Hi' },
      { type: 'tool_use', id: 'toolu_1_a0_2', name: 'Bash', input: { command: 'ls' } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: 100,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 9,
    },
  })
})

describe('huge outputs', () => {
  const bytes = 11 * 1024 * 1024

  test.each([
    ['all' as const, 1],
    [65_536, 176],
  ])('11 MB with chunkChars %s comes complete in %i deltas', async (chunkChars, count) => {
    const model = await start({ answers: [{ text: { repeat: 'x', bytes }, chunkChars }] })
    const list = await events(ask(model))
    expect(list.filter(({ type }) => type === 'content_block_delta')).toHaveLength(count)
    expect(streamedText(list)).toHaveLength(bytes)
    await model.waitForRequest(({ state }) => state === 'done')
  })

  test('bytes counts UTF-8 and never splits a character', async () => {
    const model = await start({ answers: [{ text: { repeat: 'é', bytes: 7 } }] })
    expect(streamedText(await events(ask(model)))).toBe('ééé')
  })
})

describe('a stall', () => {
  test('goes silent after n deltas and goes on at release()', async () => {
    const model = await start({ answers: [{ text: 'abcdef', chunkChars: 2, stallAfter: 2 }] })
    const response = await ask(model)
    const request = await model.waitForRequest(({ state }) => state === 'stalled')
    expect(model.release()).toBe(1)
    expect(streamedText(await events(response))).toBe('abcdef')
    await model.waitForRequest(({ state }) => state === 'done')
    expect(request.state).toBe('done')
    expect(model.release()).toBe(0)
  })

  test('sends exactly the deltas before it', async () => {
    const model = await start({ answers: [{ text: 'abcdef', chunkChars: 2, stallAfter: 2 }] })
    const response = await ask(model)
    await model.waitForRequest(({ state }) => state === 'stalled')
    const reading = readUntilBroken(response)
    await model.close()
    const { text, broken } = await reading
    expect(broken).toBe(true)
    expect(streamedText(parseSse(text))).toBe('abcd')
    expect(parseSse(text).at(-1)?.type).toBe('content_block_delta')
  })

  test('ends when the client leaves', async () => {
    const model = await start({ answers: [{ text: 'abcdef', stallAfter: 0 }] })
    const leave = new AbortController()
    await ask(model, {}, { signal: leave.signal })
    await model.waitForRequest(({ state }) => state === 'stalled')
    leave.abort()
    await model.waitForRequest(({ state }) => state === 'left')
    expect(model.release()).toBe(0)
  })

  test('after `nothing` sends not even headers', async () => {
    const model = await start({ answers: [{ text: 'a', stallAfter: 'nothing' }] })
    const response = ask(model)
    await model.waitForRequest(({ state }) => state === 'stalled')
    model.release()
    expect(streamedText(await events(response))).toBe('a')
  })

  test('holds an answer that is not streamed', async () => {
    const model = await start({ answers: [{ text: 'a', stallAfter: 3 }] })
    const response = ask(model, { stream: false })
    await model.waitForRequest(({ state }) => state === 'stalled')
    model.release()
    expect((await response).status).toBe(200)
  })
})

describe('a cut', () => {
  test('destroys the socket after n deltas, all of which arrive', async () => {
    const model = await start({ answers: [{ text: 'abcdef', chunkChars: 2, cutAfter: 2 }] })
    const { text, broken } = await readUntilBroken(await ask(model))
    expect(broken).toBe(true)
    expect(streamedText(parseSse(text))).toBe('abcd')
    await model.waitForRequest(({ state }) => state === 'cut')
  })

  test('after more deltas than there are comes before the closing events', async () => {
    const model = await start({ answers: [{ text: 'ab', cutAfter: 9 }] })
    const { text, broken } = await readUntilBroken(await ask(model))
    expect(broken).toBe(true)
    expect(parseSse(text).at(-1)?.type).toBe('content_block_stop')
  })

  test.each([true, false])('after `nothing` the request fails, streamed: %s', async stream => {
    const model = await start({ answers: [{ text: 'ab', cutAfter: 'nothing' }, 'next'] })
    await expect(ask(model, { stream })).rejects.toThrow()
    expect((await ask(model, { stream })).status).toBe(200)
  })
})

describe('an error', () => {
  test('inside a stream ends it with an error event', async () => {
    const model = await start({ answers: [{ text: 'abcd', chunkChars: 2, streamError: { after: 1 } }] })
    const list = await events(ask(model))
    expect(streamedText(list)).toBe('ab')
    expect(list.at(-1)).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
      request_id: 'req_1_a0',
    })
  })

  test('inside a stream becomes a status where nothing is streamed', async () => {
    const model = await start({
      answers: [{ text: 'a', streamError: { after: 1, type: 'api_error', message: 'Oops' } }],
    })
    const response = await ask(model, { stream: false })
    expect(response.status).toBe(529)
    expect(await response.json()).toMatchObject({ error: { type: 'api_error', message: 'Oops' } })
  })

  test.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [402, 'billing_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [418, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [503, 'api_error'],
    [529, 'overloaded_error'],
  ])('%i has the body of the API', async (status, type) => {
    const model = await start({ answers: [{ error: status }] })
    const response = await ask(model)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({
      type: 'error',
      error: { type, message: expect.stringMatching(/./) },
      request_id: 'req_1_a0',
    })
  })

  test('has the type, message, retry-after and headers of the script', async () => {
    const error = {
      status: 429,
      type: 'mine',
      message: 'Slow down',
      retryAfterSeconds: 2,
      headers: { 'x-should-retry': 'false' },
    }
    const model = await start({ answers: [{ error }] })
    const response = await ask(model)
    expect(response.headers.get('retry-after')).toBe('2')
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await response.json()).toMatchObject({ error: { type: 'mine', message: 'Slow down' } })
  })

  test('can have any body', async () => {
    const model = await start({ answers: [{ error: { status: 502, body: { bad: 'gateway' } } }] })
    expect(await (await ask(model)).json()).toEqual({ bad: 'gateway' })
  })

  test('can repeat and then recover', async () => {
    const model = await start({ answers: [{ error: 529, times: 3 }, 'fine'] })
    expect(model.remaining()).toBe(4)
    const statuses = []
    for (let request = 0; request < 4; request++) statuses.push((await ask(model)).status)
    expect(statuses).toEqual([529, 529, 529, 200])
    expect(model.requests.map(({ served }) => served)).toEqual([
      'answers[0]',
      'answers[0]',
      'answers[0]',
      'answers[1]',
    ])
    expect(model.remaining()).toBe(0)
  })
})

describe('other endpoints', () => {
  test('count_tokens estimates, or says what the script says, and takes no answer', async () => {
    const model = await start({ answers: ['a'] })
    const counted = await post(`${model.url}/v1/messages/count_tokens?beta=true`, userSays('x'.repeat(4000)))
    const { input_tokens } = (await counted.json()) as { input_tokens: number }
    expect(input_tokens).toBeGreaterThan(1000)
    const fixed = await start({ countTokens: 42 })
    expect(await (await post(`${fixed.url}/v1/messages/count_tokens`, userSays('a'))).json()).toEqual({
      input_tokens: 42,
    })
    expect(model.remaining()).toBe(1)
  })

  test('anything else is a 404 in the shape of the API, and recorded', async () => {
    const model = await start({ answers: ['a'] })
    const response = await fetch(`${model.url}/api/hello?x=1`)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({
      type: 'error',
      error: { type: 'not_found_error', message: 'No such endpoint: GET /api/hello' },
      request_id: 'req_none',
    })
    expect((await fetch(model.url, { method: 'HEAD' })).status).toBe(404)
    expect(model.requests).toMatchObject([
      { method: 'GET', path: '/api/hello', query: '?x=1', served: '', state: 'done' },
      { method: 'HEAD', path: '/', served: '' },
    ])
  })

  test('a strange path is only a 404', async () => {
    const model = await start({})
    const { port } = model
    const status = await new Promise<number | undefined>((resolve, reject) => {
      get({ port, host: '127.0.0.1', path: '//[' }, response => resolve(response.resume().statusCode)).once(
        'error',
        reject,
      )
    })
    expect(status).toBe(404)
  })

  test.each(['', 'not json', '"text"'])('a body of %j is a 400 and takes no answer', async body => {
    const model = await start({ answers: ['a'] })
    const response = await post(`${model.url}/v1/messages`, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { message: 'The body is not a JSON object.' } })
    expect(model.remaining()).toBe(1)
  })
})
