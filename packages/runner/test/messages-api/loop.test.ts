import type { ScriptAnswer } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { ApiError, type Tool } from '../../src/messages-api/index.ts'
import { echo, useLoops } from './support/loops.ts'
import { sentMessages } from './support/world.ts'

const loops = useLoops()

describe('the loop of the specification', () => {
  test('defaults are its own, and tool choice is auto', async () => {
    const { loop, model } = await loops.open({ answers: ['Hello.'] }, { tools: [echo()] })
    await loop.prompt('Hi')
    expect(model.requests[0]?.body).toMatchObject({
      model: 'claude-3-haiku-20240307',
      max_tokens: 4096,
      stream: true,
      tool_choice: { type: 'auto' },
      tools: [{ name: 'echo', description: 'Says it again', input_schema: { type: 'object' } }],
    })
    expect(model.requests[0]?.headers).toMatchObject({
      'x-api-key': 'dummy',
      'anthropic-version': '2023-06-01',
    })
  })

  test.each(['claude-3-haiku-20240307', 'claude-3-5-sonnet-20241022', 'claude-3-opus-20240229'])(
    'the model %s is asked by the name that it was given',
    async name => {
      const { loop, model } = await loops.open({ answers: ['Hello.'] }, { config: { model: name } })
      await loop.prompt('Hi')
      expect(model.requests[0]?.body).toMatchObject({ model: name })
    },
  )

  test('events come in order, each block whole', async () => {
    const { loop, told } = await loops.open(
      {
        answers: [
          { thinking: 'Hm.', text: 'I look.', tool: 'echo', input: { say: 'a' }, id: 'c1', chunkChars: 2 },
          'Done.',
        ],
      },
      { tools: [echo()] },
    )
    const result = await loop.prompt('Go')
    expect(told).toEqual([
      ['user', 'Go'],
      ['reasoning', 'Hm.'],
      ['text', 'I look.'],
      ['call', 'c1', 'echo', { say: 'a' }],
      ['result', 'c1', 'echo: a', false],
      ['text', 'Done.'],
    ])
    expect(result).toMatchObject({ reason: 'end_turn', text: 'Done.', turns: 2 })
    expect(result.usage.output_tokens).toBeGreaterThan(0)
  })

  test('several calls run one after the other, in their order', async () => {
    const running: string[] = []
    const slow: Tool = {
      ...echo('slow'),
      execute: async ({ say }) => {
        running.push(`begin ${String(say)}`)
        await new Promise(resolve => setImmediate(resolve))
        running.push(`end ${String(say)}`)
        return 'ok'
      },
    }
    const { loop } = await loops.open(
      {
        answers: [
          { blocks: ['1', '2', '3'].map(say => ({ tool: 'slow', input: { say }, id: say })) },
          'Done.',
        ],
      },
      { tools: [slow] },
    )
    await loop.prompt('Go')
    expect(running).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
  })

  test('the first failure stops the other calls, and the model gets all results', async () => {
    const calls: unknown[] = []
    const { loop, model } = await loops.open(
      {
        answers: [
          {
            blocks: [
              { tool: 'echo', input: { say: 'a' }, id: 'c1' },
              { tool: 'echo', input: { fail: true }, id: 'c2' },
              { tool: 'echo', input: { say: 'c' }, id: 'c3' },
            ],
          },
          'I see.',
        ],
      },
      { tools: [echo('echo', calls)] },
    )
    expect(await loop.prompt('Go')).toMatchObject({ reason: 'end_turn' })
    expect(calls).toHaveLength(2)
    expect(sentMessages(model)[2]?.content).toMatchObject([
      { tool_use_id: 'c1', content: 'echo: a' },
      { tool_use_id: 'c2', content: 'echo failed', is_error: true },
      { tool_use_id: 'c3', content: expect.stringContaining('Not executed because echo'), is_error: true },
    ])
  })

  test('the limit of turns ends it, with every call answered', async () => {
    const again = { tool: 'echo', input: { say: 'x' }, times: 5 }
    const { loop, model } = await loops.open(
      { answers: [again], otherwise: 'Rested.' },
      { tools: [echo()], config: { maxTurns: 2 } },
    )
    expect(await loop.prompt('Go')).toMatchObject({ reason: 'max_turns', turns: 2 })
    expect(model.requests).toHaveLength(2)
    expect(loop.history.at(-1)).toMatchObject({ role: 'user', content: [{ type: 'tool_result' }] })
  })

  test('one prompt at a time; cancel is safe at any time and lets the next one go on', async () => {
    let tellSaid = () => {}
    const said = new Promise<void>(resolve => {
      tellSaid = resolve
    })
    const handler = { onEvent: ({ type }: { type: string }) => type === 'content_block_delta' && tellSaid() }
    const script = { answers: [{ text: 'one two', chunkChars: 4, stallAfter: 1 }, 'Back.'] }
    const { loop } = await loops.open(script, { handler })
    loop.cancel()
    const first = loop.prompt('First')
    await expect(loop.prompt('Second')).rejects.toThrow('running already')
    await said
    loop.cancel()
    await expect(first).rejects.toMatchObject({ name: 'AbortError' })
    expect(loop.isRunning).toBe(false)
    expect(await loop.prompt('Third')).toMatchObject({ text: 'Back.' })
    // What a person had read of the first answer is still said.
    expect(loop.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    loop.cancel()
  })

  test('cancel ends a prompt whose tool ignores its signal, and the next prompt goes on', async () => {
    let called = () => {}
    const isCalled = new Promise<void>(resolve => {
      called = resolve
    })
    const deaf: Tool = {
      ...echo(),
      execute: () => {
        called()
        return new Promise(() => {})
      },
    }
    const { loop, model } = await loops.open(
      { answers: [{ tool: 'echo', input: {}, id: 'c1' }, 'Back.'] },
      { tools: [deaf], config: { toolGraceMs: 0 } },
    )
    const first = loop.prompt('Go')
    await isCalled
    loop.cancel()
    await expect(first).rejects.toMatchObject({ name: 'AbortError' })
    expect(await loop.prompt('And now?')).toMatchObject({ text: 'Back.' })
    expect(sentMessages(model)[2]?.content[0]).toMatchObject({
      type: 'tool_result',
      tool_use_id: 'c1',
      is_error: true,
      content: expect.stringContaining('may still be running'),
    })
  })

  test('further fields of the request do not replace those of the loop', async () => {
    const { loop, model } = await loops.open(
      { answers: ['Hello.'] },
      { tools: [echo()], config: { extraBody: { tool_choice: { type: 'none' }, temperature: 0 } } },
    )
    await loop.prompt('Hi')
    expect(model.requests[0]?.body).toMatchObject({ tool_choice: { type: 'auto' }, temperature: 0 })
  })

  test('the history only grows and cannot be changed, not through what was put in either', async () => {
    const prompt = [{ type: 'text' as const, text: 'Hello' }]
    const { loop } = await loops.open({ answers: ['One.', 'Two.'] })
    await loop.prompt(prompt)
    const before = loop.history
    for (const block of prompt) block.text = 'changed'
    expect(() => (before as unknown[]).push('x')).toThrow(TypeError)
    expect(() => Object.assign(before[0] ?? {}, { role: 'assistant' })).toThrow(TypeError)
    await loop.prompt('More')
    expect(before).toHaveLength(2)
    expect(loop.history.slice(0, 2)).toEqual(before)
    expect(loop.history[0]).toEqual({ role: 'user', content: [{ type: 'text', text: 'Hello' }] })
  })

  test('a handler that throws at everything changes nothing', async () => {
    const thrower = () => {
      throw new Error('mine')
    }
    const handler = {
      onText: thrower,
      onUser: thrower,
      onToolCall: thrower,
      onToolResult: thrower,
      onEvent: thrower,
    }
    const { loop } = await loops.open(
      { answers: [{ text: 'I look.', tool: 'echo', input: { say: 'a' } }, 'Done.'] },
      { tools: [echo()], handler },
    )
    const result = await loop.prompt('Go')
    expect(result).toMatchObject({ reason: 'end_turn', text: 'Done.' })
    expect(result.handlerErrors.length).toBeGreaterThan(3)
    expect(loop.history).toHaveLength(4)
  })

  test('without a handler it is silent', async () => {
    const { loop } = await loops.open({ answers: ['Hi.'] }, { handler: {} })
    expect(await loop.prompt('Hi')).toMatchObject({ text: 'Hi.' })
  })

  test('a message added during a turn is sent with the next results, or at the end of the answer', async () => {
    const added: boolean[] = []
    const tool: Tool = {
      ...echo(),
      execute: async () => {
        added.push(loop.add('and quickly'))
        return 'ok'
      },
    }
    const { loop, model, told } = await loops.open(
      { answers: [{ tool: 'echo', input: {} }, 'Done.'] },
      { tools: [tool] },
    )
    expect(loop.add('too early')).toBe(false)
    await loop.prompt('Go')
    expect(added).toEqual([true])
    expect(sentMessages(model)[2]?.content).toMatchObject([
      { type: 'tool_result' },
      { type: 'text', text: 'and quickly' },
    ])
    expect(told.filter(([what]) => what === 'user')).toEqual([
      ['user', 'Go'],
      ['user', 'and quickly'],
    ])
    expect(loop.add('too late')).toBe(false)
  })

  test('an added message is answered even if the model was done, or is kept for the next prompt', async () => {
    let add = () => {}
    const handler = { onText: () => add() }
    const { loop, model } = await loops.open(
      { answers: ['One.', 'Two.', { error: 400 }, 'Three.'] },
      { handler },
    )
    add = () => {
      add = () => {}
      expect(loop.add('more')).toBe(true)
    }
    expect(await loop.prompt('Go')).toMatchObject({ text: 'Two.', turns: 2 })
    const failing = loop.prompt('Again')
    expect(loop.add('not lost')).toBe(true)
    await expect(failing).rejects.toBeInstanceOf(ApiError)
    await loop.prompt('Once more')
    const said = sentMessages(model).flatMap(({ role, content }) =>
      role === 'user' ? content.map(({ text }) => text) : [],
    )
    expect(said).toEqual(['Go', 'more', 'Again', 'not lost', 'Once more'])
  })
})

describe('why the model stopped', () => {
  test.each<[string, ScriptAnswer[], string, number]>([
    ['end_turn', ['Done.'], 'end_turn', 1],
    ['a stop sequence', [{ text: 'x', stopReason: 'stop_sequence' }], 'stop_sequence', 1],
    ['max_tokens in a text', [{ text: 'x', stopReason: 'max_tokens' }], 'max_tokens', 1],
    ['a refusal', [{ text: 'no', stopReason: 'refusal' }], 'refusal', 1],
    [
      'a full window',
      [{ text: 'x', stopReason: 'model_context_window_exceeded' }],
      'model_context_window_exceeded',
      1,
    ],
    ['a pause goes on by itself', [{ text: 'wait', stopReason: 'pause_turn' }, 'Done.'], 'end_turn', 2],
  ])('%s', async (_what, answers, reason, turns) => {
    const { loop } = await loops.open({ answers })
    expect(await loop.prompt('Go')).toMatchObject({ reason, turns })
  })

  test.each<[string, ScriptAnswer]>([
    ['cut off at max_tokens', { tool: 'echo', input: '{"say": "hal', stopReason: 'max_tokens' }],
    ['whole, in an answer that was cut off', { tool: 'echo', input: { say: 'a' }, stopReason: 'max_tokens' }],
    ['no JSON', { tool: 'echo', input: '{say}' }],
    ['JSON but no object', { tool: 'echo', input: '[1]' }],
    ['for a tool that is not there', { tool: 'nope', input: {} }],
  ])('a call that is %s does not run, and the model hears why', async (_what, answer) => {
    const calls: unknown[] = []
    const { loop, model } = await loops.open(
      { answers: [answer, 'Sorry.'] },
      { tools: [echo('echo', calls)] },
    )
    expect(await loop.prompt('Go')).toMatchObject({ reason: 'end_turn', text: 'Sorry.' })
    expect(calls).toEqual([])
    expect(sentMessages(model)[2]?.content).toMatchObject([{ type: 'tool_result', is_error: true }])
  })
})

describe('results that are sent to the model', () => {
  test('thinking goes back with its signature, blank texts and unknown fields as the API wants them', async () => {
    const { loop, model } = await loops.open(
      {
        answers: [
          {
            blocks: [
              { thinking: 'Hm.', signature: 'signed' },
              { raw: { type: 'redacted_thinking', data: 'abc' } },
              { text: '  ' },
              { raw: { type: 'from_the_future', value: 1 } },
              { tool: 'echo', input: {}, id: 'c1' },
            ],
          },
          'Done.',
        ],
      },
      { tools: [echo()] },
    )
    await loop.prompt('Go')
    expect(sentMessages(model)[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'signed' },
        { type: 'redacted_thinking', data: 'abc' },
        { type: 'from_the_future', value: 1 },
        { type: 'tool_use', id: 'c1', name: 'echo', input: {} },
      ],
    })
  })

  test('four cache marks at most, on what stays the same', async () => {
    const { loop, model } = await loops.open(
      { answers: [{ tool: 'echo', input: {}, times: 3 }, 'Done.'] },
      { tools: [echo('a'), echo()], config: { systemPrompt: 'Be brief.' } },
    )
    await loop.prompt('Go')
    const body = model.requests.at(-1)?.body as { tools: Record<string, unknown>[] }
    expect(JSON.stringify(body).split('"cache_control"')).toHaveLength(5)
    expect(body).toMatchObject({ system: [{ text: 'Be brief.', cache_control: { type: 'ephemeral' } }] })
    expect(body.tools.map(tool => 'cache_control' in tool)).toEqual([false, true])
    const marked = sentMessages(model).map(({ content }) => content.some(block => 'cache_control' in block))
    expect(marked).toEqual([false, false, false, false, true, false, true])
  })

  test('calls that a crash left without a result get one', async () => {
    const call = { type: 'tool_use' as const, id: 'c1', name: 'echo', input: {} }
    const history = [
      { role: 'user' as const, content: 'Go' },
      { role: 'assistant' as const, content: [call] },
    ]
    const { loop, model } = await loops.open({ answers: ['Again.'] }, { config: { history } })
    await loop.prompt('And?')
    expect(sentMessages(model).slice(2)).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', is_error: true },
          { type: 'text', text: 'And?' },
        ],
      },
    ])
  })
})
