import { describe, expect, onTestFinished, test } from 'vitest'
import { type Script, type ScriptedModel, startScriptedModel } from '../src/index.ts'
import { askResponses, events, parseSse, readUntilBroken } from './client.ts'

async function start(script: Script): Promise<ScriptedModel> {
  const model = await startScriptedModel(script)
  onTestFinished(() => model.close())
  return model
}

describe('a streamed response', () => {
  test('text comes as an output item with its parts and deltas, numbered', async () => {
    const usage = { input: 10, output: 5, cacheRead: 4, cacheWrite: 1, reasoning: 2 }
    const model = await start({ answers: [{ text: 'Hello', chunkChars: 3, usage }] })
    const list = await events(askResponses(model))
    expect(list.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(list.map(({ sequence_number }) => sequence_number)).toEqual(list.map((_, index) => index))
    expect(list.at(-1)?.response).toMatchObject({
      id: 'resp_1_a0',
      status: 'completed',
      model: 'scripted',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 15,
      },
    })
  })

  test('a tool is a function call, thinking is a reasoning summary', async () => {
    const model = await start({
      answers: [{ thinking: 'Hmm.', tool: 'exec_command', input: { cmd: 'ls' }, id: 'call_mine' }],
    })
    const done = (await events(askResponses(model))).filter(
      ({ type }) => type === 'response.output_item.done',
    )
    expect(done.map(({ item }) => item)).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hmm.' }] },
      { type: 'function_call', call_id: 'call_mine', name: 'exec_command', arguments: '{"cmd":"ls"}' },
    ])
  })

  test('a string input makes a custom tool call, a namespace is passed on', async () => {
    const model = await start({
      answers: [
        {
          blocks: [
            { tool: 'apply_patch', input: '*** Begin Patch' },
            { tool: 'greet', namespace: 'mcp__x', input: {} },
          ],
        },
      ],
    })
    const list = await events(askResponses(model))
    expect(list.map(({ type }) => type)).toContain('response.custom_tool_call_input.delta')
    const done = list.filter(({ type }) => type === 'response.output_item.done')
    expect(done.map(({ item }) => item)).toMatchObject([
      { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch' },
      { type: 'function_call', name: 'greet', namespace: 'mcp__x', arguments: '{}' },
    ])
  })

  test('max_tokens is an incomplete response', async () => {
    const model = await start({ answers: [{ text: 'a', stopReason: 'max_tokens' }] })
    expect((await events(askResponses(model))).at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    })
  })

  test('a stream error is a failed response', async () => {
    const model = await start({
      answers: [{ text: 'abcd', chunkChars: 2, streamError: { after: 1, message: 'Busy' } }],
    })
    const list = await events(askResponses(model))
    expect(list.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(1)
    expect(list.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_is_overloaded', message: 'Busy' } },
    })
  })

  test('a cut leaves the deltas before it', async () => {
    const model = await start({ answers: [{ text: 'abcd', chunkChars: 2, cutAfter: 1 }] })
    const { text, broken } = await readUntilBroken(await askResponses(model))
    expect(broken).toBe(true)
    expect(parseSse(text).at(-1)).toMatchObject({ type: 'response.output_text.delta', delta: 'ab' })
  })
})

test('a response that is not streamed is the object itself', async () => {
  const model = await start({ answers: ['Hi'] })
  const response = await askResponses(model, { stream: false })
  expect(await response.json()).toMatchObject({
    object: 'response',
    status: 'completed',
    output: [{ type: 'message' }],
  })
})

test.each([
  [400, 'invalid_request_error', null],
  [401, 'invalid_request_error', 'invalid_api_key'],
  [429, 'requests', 'rate_limit_exceeded'],
  [500, 'server_error', null],
  [503, 'server_error', 'server_is_overloaded'],
])('an error %i has the body of the API', async (status, type, code) => {
  const model = await start({ answers: [{ error: status }] })
  const response = await askResponses(model)
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual({
    error: { message: expect.stringMatching(/./), type, param: null, code },
  })
})

test('the model list and unknown endpoints', async () => {
  const model = await start({})
  expect(await (await fetch(`${model.openaiUrl}/models`)).json()).toMatchObject({
    object: 'list',
    data: [{ id: 'scripted' }],
  })
  const unknown = await fetch(`${model.openaiUrl}/embeddings`)
  expect(unknown.status).toBe(404)
  expect(await unknown.json()).toMatchObject({ error: { message: 'No such endpoint: GET /v1/embeddings' } })
})
