import { describe, expect, onTestFinished, test } from 'vitest'
import { type Script, type ScriptedModel, type ScriptWhen, startScriptedModel } from '../src/index.ts'
import { ask, askResponses, events, streamedText, userSays } from './client.ts'

async function start(script: Script): Promise<ScriptedModel> {
  const model = await startScriptedModel(script)
  onTestFinished(() => model.close())
  return model
}

const toolResult = { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'exit code 3' }] }
/** Request of Claude Code after a tool has run. */
const request = {
  model: 'claude-opus-9',
  system: [{ type: 'text', text: 'You are an agent.' }],
  tools: [{ name: 'Bash' }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'FIRSTWORD of all' }] },
    { role: 'system', content: 'Environment: linux' },
    { role: 'assistant', content: 'ok' },
    { role: 'user', content: 'now the second' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }] },
    { role: 'user', content: [toolResult] },
  ],
}

describe('a route', () => {
  test.each<[ScriptWhen, boolean]>([
    [{ modelContains: 'opus' }, true],
    [{ modelContains: 'haiku' }, false],
    [{ systemContains: 'an agent' }, true],
    [{ systemContains: 'linux' }, true],
    [{ systemContains: 'windows' }, false],
    [{ lastUserContains: 'second' }, true],
    [{ lastUserContains: 'FIRSTWORD' }, false],
    [{ lastUserContains: 'exit code' }, false],
    [{ lastUserMatches: '^now .* second$' }, true],
    [{ lastUserMatches: '^second' }, false],
    [{ conversationContains: 'FIRSTWORD' }, true],
    [{ conversationContains: 'second' }, false],
    [{ toolResultContains: 'exit code 3' }, true],
    [{ toolResultContains: 'exit code 4' }, false],
    [{ toolResultMatches: '^.*code \\d' }, true],
    [{ toolResultMatches: '^$' }, false],
    [{ hasTool: 'Bash' }, true],
    [{ hasTool: 'Bas' }, false],
    [{ subAgent: false }, true],
    [{ subAgent: true }, false],
    [{ side: 'title' }, false],
    [{ api: 'messages' }, true],
    [{ api: 'responses' }, false],
    [{ modelContains: 'opus', hasTool: 'Read' }, false],
  ])('with %j fits: %s', async (when, fits) => {
    const model = await start({ answers: ['main'], routes: [{ when, answers: ['routed'] }] })
    expect(streamedText(await events(ask(model, request)))).toBe(fits ? 'routed' : 'main')
  })

  test.each<[ScriptWhen, boolean]>([
    [{ api: 'responses' }, true],
    [{ lastUserContains: 'do it' }, true],
    [{ lastUserContains: '<cwd>' }, false],
    [{ systemContains: 'coding agent' }, true],
    [{ toolResultContains: 'exited with code 0' }, true],
    [{ hasTool: 'exec_command' }, true],
    [{ hasTool: 'spawn_agent' }, true],
    [{ hasTool: 'Bash' }, false],
  ])('with %j fits a Codex request: %s', async (when, fits) => {
    const model = await start({ answers: ['main'], routes: [{ when, answers: ['routed'] }] })
    const list = await events(
      askResponses(model, {
        tools: [{ name: 'exec_command' }, { name: 'multi_agent', tools: [{ name: 'spawn_agent' }] }],
        input: [
          {
            type: 'message',
            role: 'developer',
            content: [{ type: 'input_text', text: 'You are a coding agent' }],
          },
          {
            type: 'message',
            role: 'user',
            content: [{ type: 'input_text', text: '<environment_context>\n<cwd>/' }],
          },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'please do it' }] },
          { type: 'function_call', name: 'exec_command', arguments: '{}', call_id: 'c' },
          { type: 'function_call_output', call_id: 'c', output: 'Process exited with code 0' },
        ],
      }),
    )
    expect(list.find(({ type }) => type === 'response.output_text.done')?.text).toBe(fits ? 'routed' : 'main')
  })

  test('knows sub-agents by the header or the system prompt of Claude Code', async () => {
    const model = await start({
      answers: ['main'],
      routes: [{ when: { subAgent: true }, answers: ['sub', 'sub'] }],
    })
    const headers = { 'x-claude-code-agent-id': 'a1' }
    expect(streamedText(await events(ask(model, request, { headers })))).toBe('sub')
    const system = 'x-anthropic-billing-header: cc_is_subagent=true;'
    expect(streamedText(await events(ask(model, { ...request, system })))).toBe('sub')
    expect(streamedText(await events(ask(model, request)))).toBe('main')
  })

  test('is tried in order and owns its requests, even when used up', async () => {
    const model = await start({
      answers: ['main'],
      routes: [
        { when: { lastUserContains: 'a' }, answers: ['first'] },
        { when: { lastUserContains: 'a' }, answers: ['never'] },
      ],
    })
    expect(streamedText(await events(ask(model, userSays('a'))))).toBe('first')
    const response = await ask(model, userSays('a'))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('script exhausted: every answer of `routes[0].answers`') },
    })
    expect(model.remaining()).toBe(2)
  })

  test('has an `otherwise` of its own, then that of the script', async () => {
    const model = await start({
      routes: [
        { when: { lastUserContains: 'a' }, answers: [], otherwise: 'own' },
        { when: { lastUserContains: 'b' }, answers: [] },
      ],
      otherwise: { error: 404 },
    })
    expect(streamedText(await events(ask(model, userSays('a'))))).toBe('own')
    expect((await ask(model, userSays('b'))).status).toBe(404)
    expect((await ask(model, userSays('c'))).status).toBe(404)
    expect(model.requests.map(({ served }) => served)).toEqual([
      'routes[0].otherwise',
      'otherwise',
      'otherwise',
    ])
  })
})

test('a used up script answers 400, which no agent retries', async () => {
  const model = await start({ answers: ['only'] })
  await ask(model)
  const response = await ask(model)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: {
      message: expect.stringContaining('script exhausted: every answer of `answers` has been served'),
    },
  })
  expect(model.requests[1]?.served).toBe('exhausted')
})

describe('a side request', () => {
  const compaction = 'Respond with plain text only: an <analysis> block followed by a <summary> block.'
  const sideRequests = {
    title: { ...userSays('<session>\nfix it\n</session>'), tools: [] },
    suggestion: { ...request, ...userSays('[SUGGESTION MODE: Suggest what the user might type next.]') },
    'tool-summary': {
      ...userSays('Tools completed:'),
      system: 'Write a short summary label describing what these tool calls accomplished.',
    },
    compaction: {
      ...request,
      messages: [{ role: 'user', content: [toolResult, { type: 'text', text: compaction }] }],
    },
  }

  test.each(Object.entries(sideRequests))('%s leaves the answers alone', async (kind, body) => {
    const model = await start({ answers: ['main'] })
    const text = streamedText(await events(ask(model, body)))
    expect(text).not.toBe('')
    expect(text).not.toBe('main')
    expect(model.requests[0]?.served).toBe(`side:${kind}`)
    expect(model.remaining()).toBe(1)
  })

  test.each(Object.entries(sideRequests))('%s can be routed', async (kind, body) => {
    const side = kind as keyof typeof sideRequests
    const model = await start({ routes: [{ when: { side }, answers: ['mine'] }] })
    expect(streamedText(await events(ask(model, body)))).toBe('mine')
  })

  test('a conversation without tools is none', async () => {
    const model = await start({ answers: ['main'] })
    expect(streamedText(await events(ask(model, { tools: [] })))).toBe('main')
  })
})

test('defaults apply where an answer says nothing else', async () => {
  const model = await start({
    defaults: { chunkChars: 1, usage: { input: 7 } },
    answers: ['ab', { text: 'cd', chunkChars: 'all', usage: { input: 8 } }],
  })
  const read = async () => {
    const list = await events(ask(model))
    const deltas = list.filter(({ type }) => type === 'content_block_delta').length
    return { deltas, usage: list.at(-2)?.usage }
  }
  expect(await read()).toMatchObject({ deltas: 2, usage: { input_tokens: 7 } })
  expect(await read()).toMatchObject({ deltas: 1, usage: { input_tokens: 8 } })
})
