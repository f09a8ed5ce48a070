import { describe, expect, onTestFinished, test } from 'vitest'
import { type Script, type ScriptedModel, startScriptedModel } from '../src/index.ts'
import { post } from './client.ts'

// The wire formats of agents that speak neither the Messages nor the Responses API.

async function start(script: Script): Promise<ScriptedModel> {
  const model = await startScriptedModel(script)
  onTestFinished(() => model.close())
  return model
}

const SHELL = { type: 'object', properties: { command: { type: 'string' } } }

function askChat(model: ScriptedModel, body: Record<string, unknown> = {}): Promise<Response> {
  const messages = [{ role: 'user', content: 'hello' }]
  return post(`${model.openaiUrl}/chat/completions`, { model: 'any', messages, stream: true, ...body })
}

function askGemini(
  model: ScriptedModel,
  body: Record<string, unknown> = {},
  method = 'streamGenerateContent?alt=sse',
): Promise<Response> {
  const contents = [{ role: 'user', parts: [{ text: 'hello' }] }]
  return post(`${model.url}/v1beta/models/gemini-9-pro:${method}`, { contents, ...body })
}

interface Candidates {
  candidates: { content: { parts: { text: string }[] } }[]
}

async function contentOf(response: Response): Promise<string> {
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  return choices[0]?.message.content ?? ''
}

/** The data of each event; neither API names its events. */
async function dataOf(response: Response): Promise<unknown[]> {
  const frames = (await response.text()).split('\n\n').filter(text => text !== '')
  return frames.map(text => {
    expect(text).toMatch(/^data: /)
    const data = text.slice('data: '.length)
    return data === '[DONE]' ? data : JSON.parse(data)
  })
}

describe('Chat Completions', () => {
  test('a stream has the role, the text in pieces, the reason, the usage and its end', async () => {
    const usage = { input: 10, output: 5, cacheRead: 4, reasoning: 2 }
    const model = await start({ answers: [{ text: 'Hello', chunkChars: 3, usage }] })
    const response = await askChat(model)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const chunk = (delta: unknown, finish_reason: string | null = null) => ({
      id: 'chatcmpl-1_a0',
      object: 'chat.completion.chunk',
      model: 'any',
      choices: [{ index: 0, delta, finish_reason }],
    })
    expect(await dataOf(response)).toMatchObject([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({}, 'stop'),
      {
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 5,
          total_tokens: 15,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      },
      '[DONE]',
    ])
  })

  test('calls of tools are numbered, and their arguments come in pieces', async () => {
    const model = await start({
      answers: [
        {
          blocks: [
            { thinking: 'Hm.' },
            { tool: 'shell', input: { command: 'ls' }, id: 'call_mine' },
            { tool: 'read', input: { path: 'a' } },
          ],
          chunkChars: 10,
        },
      ],
    })
    const chunks = (await dataOf(await askChat(model))) as {
      choices?: { delta: Record<string, unknown>; finish_reason: string | null }[]
    }[]
    const deltas = chunks.flatMap(({ choices = [] }) => choices.map(({ delta }) => delta))
    expect(deltas[1]).toEqual({ reasoning_content: 'Hm.' })
    const calls = deltas.flatMap(({ tool_calls }) => (tool_calls ?? []) as { index: number }[])
    expect(calls).toEqual([
      { index: 0, id: 'call_mine', type: 'function', function: { name: 'shell', arguments: '' } },
      { index: 0, function: { arguments: '{"command"' } },
      { index: 0, function: { arguments: ':"ls"}' } },
      { index: 1, id: 'call_1_a0_2', type: 'function', function: { name: 'read', arguments: '' } },
      { index: 1, function: { arguments: '{"path":"a' } },
      { index: 1, function: { arguments: '"}' } },
    ])
    expect(chunks.flatMap(({ choices = [] }) => choices.map(choice => choice.finish_reason)).at(-1)).toBe(
      'tool_calls',
    )
  })

  test('without streaming the message is whole', async () => {
    const model = await start({
      answers: [{ text: 'Now.', tool: 'shell', input: { command: 'ls' }, stopReason: 'max_tokens' }],
    })
    expect(await (await askChat(model, { stream: false })).json()).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          message: {
            role: 'assistant',
            content: 'Now.',
            tool_calls: [{ type: 'function', function: { name: 'shell', arguments: '{"command":"ls"}' } }],
          },
          finish_reason: 'length',
        },
      ],
      usage: { total_tokens: 120 },
    })
  })

  test('errors have the body of the API, also in a stream', async () => {
    const model = await start({
      answers: [{ error: 401 }, { text: 'ab', chunkChars: 1, streamError: { after: 1, message: 'Broken.' } }],
    })
    const refused = await askChat(model)
    expect(refused.status).toBe(401)
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_api_key' } })
    expect((await dataOf(await askChat(model))).at(-1)).toMatchObject({ error: { message: 'Broken.' } })
  })

  test('routes see system text, the last question, tool results and tools', async () => {
    const model = await start({
      routes: [
        { when: { toolResultContains: 'a.txt', api: 'chat' }, answers: ['Saw the result.'] },
        { when: { withoutTools: true }, answers: ['A title.'] },
        {
          when: { hasTool: 'shell', systemContains: 'terse', lastUserContains: 'list' },
          answers: ['Asked.'],
        },
      ],
    })
    const tools = [{ type: 'function', function: { name: 'shell', parameters: SHELL } }]
    const asked = [
      { role: 'system', content: 'Be terse.' },
      { role: 'user', content: [{ type: 'text', text: 'list files' }] },
    ]
    const answered = [
      ...asked,
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'tool', tool_call_id: 'x', content: 'a.txt' },
    ]
    const content = async (body: Record<string, unknown>) =>
      contentOf(await askChat(model, { ...body, stream: false }))
    expect(await content({ messages: asked, tools })).toBe('Asked.')
    expect(await content({ messages: answered, tools })).toBe('Saw the result.')
    expect(await content({ messages: asked })).toBe('A title.')
  })
})

describe('Gemini', () => {
  test('a stream has the text in pieces, thoughts, a whole call and the usage at its end', async () => {
    const usage = { input: 10, output: 5, cacheRead: 4, reasoning: 2 }
    const model = await start({
      answers: [
        { thinking: 'Hm.', text: 'Hello', tool: 'run', input: { command: 'ls' }, chunkChars: 3, usage },
      ],
    })
    const data = await dataOf(await askGemini(model))
    const part = (value: unknown) => ({ candidates: [{ content: { role: 'model', parts: [value] } }] })
    expect(data).toMatchObject([
      part({ text: 'Hm.', thought: true }),
      part({ text: 'Hel' }),
      part({ text: 'lo' }),
      part({ functionCall: { id: 'call_1_a0_2', name: 'run', args: { command: 'ls' } } }),
      {
        candidates: [{ finishReason: 'STOP' }],
        modelVersion: 'gemini-9-pro',
        usageMetadata: {
          promptTokenCount: 10,
          candidatesTokenCount: 5,
          cachedContentTokenCount: 4,
          thoughtsTokenCount: 2,
          totalTokenCount: 17,
        },
      },
    ])
  })

  test('without streaming, and tokens that are counted', async () => {
    const model = await start({ answers: [{ text: 'Hello', stopReason: 'max_tokens' }], countTokens: 42 })
    expect(await (await askGemini(model, {}, 'generateContent')).json()).toMatchObject({
      candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'MAX_TOKENS' }],
    })
    expect(await (await askGemini(model, {}, 'countTokens')).json()).toEqual({ totalTokens: 42 })
  })

  test('errors have the body of the API, also in a stream', async () => {
    const model = await start({
      answers: [{ error: 429 }, { text: 'ab', chunkChars: 1, streamError: { after: 1, message: 'Broken.' } }],
    })
    const refused = await askGemini(model)
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } })
    expect((await dataOf(await askGemini(model))).at(-1)).toMatchObject({ error: { message: 'Broken.' } })
    expect((await fetch(`${model.url}/v1beta/models/x:embedContent`, { method: 'POST' })).status).toBe(404)
  })

  test('routes see the instruction, the last question, results of functions and tools', async () => {
    const model = await start({
      routes: [
        { when: { toolResultContains: 'a.txt', api: 'gemini' }, answers: ['Saw the result.'] },
        {
          when: {
            hasTool: 'run',
            systemContains: 'terse',
            lastUserContains: 'list',
            modelContains: 'gemini-9',
          },
          answers: ['Asked.'],
        },
      ],
    })
    const rest = {
      systemInstruction: { parts: [{ text: 'Be terse.' }] },
      tools: [{ functionDeclarations: [{ name: 'run', parameters: SHELL }] }],
    }
    const asked = { role: 'user', parts: [{ text: 'list files' }] }
    const text = async (contents: unknown[]) => {
      const response = await askGemini(model, { ...rest, contents }, 'generateContent')
      const { candidates } = (await response.json()) as Candidates
      return candidates[0]?.content.parts[0]?.text
    }
    expect(await text([asked])).toBe('Asked.')
    const call = { role: 'model', parts: [{ functionCall: { name: 'run', args: {} } }] }
    const result = { functionResponse: { name: 'run', response: { output: 'a.txt' } } }
    expect(await text([asked, call, { role: 'user', parts: [result] }])).toBe('Saw the result.')
  })
})

test('the script can be changed while it runs, and a wrong answer is refused', async () => {
  const model = await start({ answers: ['One.', 'Never said.'] })
  const first = await contentOf(await askChat(model, { stream: false }))
  model.continueWith('Two.', { text: 'Three.' })
  expect(model.remaining()).toBe(2)
  const said = [first]
  for (let i = 0; i < 2; i++) {
    said.push(await contentOf(await askChat(model, { stream: false })))
  }
  expect(said).toEqual(['One.', 'Two.', 'Three.'])
  expect(() => model.continueWith({ txt: 'x' } as never)).toThrow(/did you mean "text"/)
  expect(model.requests.map(({ served }) => served)).toEqual(['answers[0]', 'answers[2]', 'answers[3]'])
})
