import { describe, expect, test } from 'vitest'
import {
  assistant,
  blockStart,
  blockStop,
  delta,
  eventsOf,
  failure,
  inputDelta,
  messageDelta,
  messageStart,
  messageStop,
  only,
  result,
  stream,
  text,
  textDelta,
  textStart,
  thinking,
  thinkingDelta,
  thinkingStart,
  toolResult,
  toolStart,
  toolUse,
  user,
} from '../../../../test/support/claude-lines.ts'
import type { UIEvent } from '../../../events/ui-event.ts'

const sessionId = 'ours'

describe('text', () => {
  test('E11: deltas add up and the assistant event, which comes before the block stops, replaces them', () => {
    const events = eventsOf(
      messageStart('msg'),
      textStart(),
      textDelta('Hel'),
      textDelta('lo'),
      assistant('msg', text('Hello')),
      blockStop(),
    )
    expect(events).toStrictEqual([
      { type: 'chat:delta', sessionId, text: 'Hel', messageId: 'msg#0' },
      { type: 'chat:delta', sessionId, text: 'lo', messageId: 'msg#0' },
      { type: 'chat:message', sessionId, messageId: 'msg#0', text: 'Hello', model: 'claude-x' },
    ])
  })

  test('E10: blocks of one answer are numbered, and another answer starts again at 0', () => {
    const events = eventsOf(
      messageStart('a'),
      thinkingStart(),
      thinkingDelta('hm'),
      assistant('a', thinking('hm')),
      textStart(),
      textDelta('one'),
      assistant('a', text('one')),
      textStart(),
      textDelta('two'),
      assistant('a', text('two')),
      messageStart('b'),
      textStart(),
      textDelta('three'),
    )
    const ids = events.flatMap(event => ('messageId' in event ? [event.messageId] : []))
    expect([...new Set(ids)]).toStrictEqual(['a#t0', 'a#1', 'a#2', 'b#0'])
  })

  test('E10: without partial messages the blocks have the same ids', () => {
    const lines = [assistant('a', thinking('hm')), assistant('a', text('one')), assistant('b', text('two'))]
    const ids = eventsOf(...lines).flatMap(event => ('messageId' in event ? [event.messageId] : []))
    expect(ids).toStrictEqual(['a#t0', 'a#1', 'b#0'])
  })

  test('E13: a blank block that the agent drops is withdrawn and does not count', () => {
    const events = eventsOf(
      messageStart('m'),
      textStart(),
      textDelta('\n\n'),
      blockStop(),
      textStart(),
      textDelta('real'),
      assistant('m', text('real')),
    )
    expect(events.slice(1)).toStrictEqual([
      { type: 'chat:message', sessionId, messageId: 'm#0', text: '', discarded: true },
      { type: 'chat:delta', sessionId, text: 'real', messageId: 'm#0' },
      { type: 'chat:message', sessionId, messageId: 'm#0', text: 'real', model: 'claude-x' },
    ])
  })

  test('E13: a broken stream that another answer replaces is withdrawn', () => {
    const streamed = [messageStart('m1'), textStart(), textDelta('half')]
    const withdrawn = { type: 'chat:message', sessionId, messageId: 'm1#0', text: '', discarded: true }
    expect(eventsOf(...streamed, assistant('m2', text('whole')))).toContainEqual(withdrawn)
    expect(eventsOf(...streamed, messageStart('m2'))).toContainEqual(withdrawn)
    expect(eventsOf(...streamed, blockStop(), messageStop(), messageStart('m2'))).toContainEqual(withdrawn)
  })

  test('E14: streamed text stays as far as it came when the turn ends there', () => {
    const events = eventsOf(messageStart('m'), textStart(), textDelta('one '), textDelta('two'), failure())
    expect(events[2]).toStrictEqual({
      type: 'chat:message',
      sessionId,
      messageId: 'm#0',
      text: 'one two',
      aborted: true,
      model: 'claude-x',
    })
    expect(events[3]?.type).toBe('session:error')
  })

  test('E14: a success confirmed all there is; the rest, and blank text, is withdrawn', () => {
    const half = [messageStart('m'), textStart(), textDelta('half')]
    const withdrawn = { type: 'chat:message', sessionId, messageId: 'm#0', text: '', discarded: true }
    expect(only(eventsOf(...half, result()), 'chat:message')).toStrictEqual([withdrawn])
    expect(only(eventsOf(messageStart('m'), textDelta('\n\n'), failure()), 'chat:message')).toStrictEqual([
      withdrawn,
    ])
    const stopped = result({ terminal_reason: 'aborted_streaming' })
    expect(only(eventsOf(...half, stopped), 'chat:message')).toMatchObject([{ text: 'half', aborted: true }])
  })

  test('E14: the same when the output just ends', () => {
    const events = eventsOf(messageStart('m'), textStart(), textDelta('one'))
    expect(events.at(-1)).toMatchObject({ type: 'chat:message', text: 'one', aborted: true })
  })

  test('E14: an answer that the agent itself calls aborted is confirmed once', () => {
    const lines = [
      messageStart('m'),
      textStart(),
      textDelta('on'),
      assistant('m', text('on'), { aborted: true }),
    ]
    expect(only(eventsOf(...lines, failure()), 'chat:message')).toStrictEqual([
      { type: 'chat:message', sessionId, messageId: 'm#0', text: 'on', model: 'claude-x', aborted: true },
    ])
  })

  const half = [messageStart('m'), textStart(), textDelta('half')]
  const broken = stream({ type: 'message_stop' }, { abandoned_blocks: { from_block_index: 0 } })
  const cut = {
    type: 'chat:message',
    sessionId,
    messageId: 'm#0',
    text: 'half',
    model: 'claude-x',
    aborted: true,
  }

  test('E14: a stream that the agent calls broken is cut at once, and withdrawn when the next attempt begins', () => {
    const withdrawn = { type: 'chat:message', sessionId, messageId: 'm#0', text: '', discarded: true }
    const messages = (...rest: unknown[]) =>
      only(eventsOf(...half, blockStop(), broken, ...rest), 'chat:message')
    expect(messages(messageStart('m2'))).toStrictEqual([cut, withdrawn])
    expect(messages(result())).toStrictEqual([cut, withdrawn])
    expect(messages(failure())).toStrictEqual([cut])
    expect(messages()).toStrictEqual([cut])
  })

  test('E14: of a broken stream thinking stays too, blank text does not', () => {
    const thought = [messageStart('m'), thinkingStart(), thinkingDelta('hm'), broken]
    expect(eventsOf(...thought).at(-1)).toMatchObject({ type: 'chat:thinking', text: 'hm', final: true })
    const blank = eventsOf(messageStart('m'), textStart(), textDelta('\n'), broken, messageStart('m2'))
    expect(only(blank, 'chat:message')).toMatchObject([{ discarded: true }])
  })

  describe('E14: text that is confirmed as if it were whole and then interrupted', () => {
    const interrupted = user([text('[Request interrupted by user]')])
    const stopped = failure({ terminal_reason: 'aborted_streaming' })
    const whole = { ...cut, aborted: undefined }
    const messages = (...lines: unknown[]) => only(eventsOf(...lines), 'chat:message')

    test('is said once, as cut', () => {
      const lines = [...half, assistant('m', text('half'))]
      expect(messages(...lines, interrupted, stopped)).toEqual([cut])
      expect(messages(...lines, stopped)).toEqual([cut])
      const between = { type: 'control_response', response: { subtype: 'success', request_id: 'stop' } }
      expect(messages(...lines, between, interrupted, stopped)).toEqual([cut])
    })

    test('is said at once, and only then, if it was not streamed', () => {
      expect(messages(assistant('m', text('half')), interrupted, stopped)).toEqual([whole])
    })

    test('is told as whole with what follows it, or when the output ends', () => {
      const lines = [...half, assistant('m', text('half'))]
      expect(only(eventsOf(...lines), 'chat:message')).toEqual([whole])
      const call = eventsOf(...lines, assistant('m', toolUse('t1')))
      expect(call.map(({ type }) => type)).toEqual(['chat:delta', 'chat:message', 'tool:start'])
      expect(messages(...lines, result())).toEqual([whole])
      expect(messages(...half, blockStop(), assistant('m', text('half')), interrupted, stopped)).toEqual([
        whole,
      ])
    })

    test('is left alone when something came after it', () => {
      const said = assistant('m', text('half'))
      expect(messages(...half, said, blockStop(), interrupted, stopped)).toEqual([whole])
      expect(messages(said, assistant('m', toolUse('t1')), toolResult('t1', 'x'), interrupted)).toEqual([
        whole,
      ])
      expect(messages(said, user([text('Go on.')]), interrupted)).toEqual([whole])
      expect(messages(said, result(), interrupted, stopped)).toEqual([whole])
    })

    test('is left alone when the turn ended for another reason', () => {
      expect(messages(assistant('m', text('half')), failure())).toEqual([whole])
    })
  })

  test('a delta whose start was never seen still has a place', () => {
    expect(eventsOf(textDelta('x'))[0]).toMatchObject({ type: 'chat:delta', text: 'x', messageId: '#0' })
  })
})

describe('thinking', () => {
  test('E11, E17: pieces, then the whole block without its signature', () => {
    const events = eventsOf(
      messageStart('m'),
      thinkingStart(),
      thinkingDelta('Let '),
      thinkingDelta('me'),
      delta({ type: 'signature_delta', signature: 'c2ln' }),
      assistant('m', thinking('Let me')),
    )
    expect(events).toStrictEqual([
      { type: 'chat:thinking', sessionId, text: 'Let ', messageId: 'm#t0' },
      { type: 'chat:thinking', sessionId, text: 'me', messageId: 'm#t0' },
      { type: 'chat:thinking', sessionId, text: 'Let me', messageId: 'm#t0', final: true },
    ])
  })

  test('E17: redacted and empty thinking and empty text give nothing', () => {
    const redacted = { type: 'redacted_thinking', data: 'abc' }
    expect(
      eventsOf(
        messageStart('m'),
        blockStart(redacted),
        assistant('m', redacted),
        thinkingStart(),
        assistant('m', thinking('')),
        textStart(),
        assistant('m', text('')),
      ),
    ).toStrictEqual([])
  })

  test('E13, E14: unconfirmed thinking is emptied by a retry and kept by an end', () => {
    const lines = [messageStart('m'), thinkingStart(), thinkingDelta('hm')]
    const final = { type: 'chat:thinking', sessionId, messageId: 'm#t0', final: true }
    expect(eventsOf(...lines, messageStart('n'))).toContainEqual({ ...final, text: '' })
    expect(eventsOf(...lines, failure())).toContainEqual({ ...final, text: 'hm' })
  })
})

describe('tools', () => {
  test('E21: a call starts empty, grows and is then complete', () => {
    const events = eventsOf(
      messageStart('m'),
      toolStart('t1'),
      inputDelta(''),
      inputDelta('{"command"'),
      inputDelta(':"ls"}'),
      assistant('m', toolUse('t1', { command: 'ls' })),
    )
    expect(events).toStrictEqual([
      {
        type: 'tool:start',
        sessionId,
        toolUseId: 't1',
        name: 'Bash',
        input: {},
        facts: { kind: 'execute', label: 'Bash', object: '' },
      },
      { type: 'tool:input', sessionId, toolUseId: 't1', delta: '{"command"' },
      { type: 'tool:input', sessionId, toolUseId: 't1', delta: ':"ls"}' },
      {
        type: 'tool:input',
        sessionId,
        toolUseId: 't1',
        input: { command: 'ls' },
        facts: { kind: 'execute', label: 'Bash', object: 'ls', command: 'ls' },
      },
    ])
  })

  test('E24: a call that the turn ended before it was written does not look busy for ever', () => {
    const events = eventsOf(messageStart('m'), toolStart('t1'), inputDelta('{"com'), failure())
    expect(only(events, 'tool:result')).toStrictEqual([
      {
        type: 'tool:result',
        sessionId,
        toolUseId: 't1',
        content: 'The model never finished writing this call, so it did not run.',
        isError: true,
      },
    ])
  })

  test('E24: a call that is complete waits for its own result', () => {
    const events = eventsOf(messageStart('m'), toolStart('t1'), assistant('m', toolUse('t1')), result())
    expect(only(events, 'tool:result')).toStrictEqual([])
  })

  test('E24: a failed turn leaves no call waiting, also not the calls of the sub-agent that it ran', () => {
    const events = eventsOf(
      assistant('m', toolUse('t1', {}, 'Agent')),
      assistant('s', toolUse('t2'), { parent_tool_use_id: 't1' }),
      assistant('m', toolUse('t3')),
      toolResult('t3', 'ran'),
      failure({ subtype: 'error_max_budget_usd' }),
      failure({ subtype: 'error_max_budget_usd' }),
    )
    const content = 'This call has no result: the turn ended before it ran or while it did.'
    expect(only(events, 'tool:result')).toStrictEqual([
      { type: 'tool:result', sessionId, toolUseId: 't3', content: 'ran', isError: false },
      { type: 'tool:result', sessionId, toolUseId: 't1', content, isError: true },
      { type: 'tool:result', sessionId, toolUseId: 't2', content, isError: true, parentToolUseId: 't1' },
    ])
    expect(events.map(event => event.type).indexOf('session:error')).toBe(events.length - 2)
  })

  test('E24: a sub-agent in the background works on when a turn fails', () => {
    const events = eventsOf(
      assistant('m', toolUse('t1', {}, 'Agent')),
      toolResult('t1', 'launched'),
      assistant('s', toolUse('t2'), { parent_tool_use_id: 't1' }),
      failure(),
    )
    expect(only(events, 'tool:result')).toHaveLength(1)
  })
})

describe('E84: a piece that is longer than any text may be', () => {
  const part = 'x'.repeat(4 * 1024 * 1024)

  test.each([
    ['text', textStart(), textDelta(part), 'chat:delta'],
    ['thinking', thinkingStart(), thinkingDelta(part), 'chat:thinking'],
    ['the input of a tool', toolStart('toolu_1', 'Write'), inputDelta(part), 'tool:input'],
  ] as const)('%s is told up to the limit, then that there is more, once', (_name, start, piece, type) => {
    const events = eventsOf(messageStart('msg'), start, ...Array(200).fill(piece), blockStop())
    const isPiece = (event: UIEvent) => event.type === type && !('final' in event)
    expect(events.filter(isPiece)).toHaveLength(16)
    expect(only(events, 'status')).toMatchObject([
      { level: 'warn', message: expect.stringContaining('64 million'), data: { kind: 'text_too_long' } },
    ])
  })
})

describe('usage', () => {
  const end = (output_tokens: number) => messageDelta({ delta: {}, usage: { output_tokens } })

  test('E41: once per answer, the last count over the first', () => {
    const start = messageStart('m', { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 500 })
    expect(eventsOf(start, end(5), end(9), messageStop())).toStrictEqual([
      {
        type: 'usage',
        sessionId,
        usage: { input_tokens: 10, output_tokens: 9, cache_read_input_tokens: 500 },
        model: 'claude-x',
      },
    ])
  })

  test('E41: an answer that never stops properly is counted with the next event that ends it', () => {
    expect(only(eventsOf(messageStart('m'), end(5), messageStart('n')), 'usage')).toHaveLength(1)
    expect(eventsOf(messageStart('m'), end(5), result()).map(event => event.type)).toStrictEqual([
      'usage',
      'chat:complete',
      'session:complete',
    ])
    expect(only(eventsOf(messageStart('m'), end(5)), 'usage')).toHaveLength(1)
  })

  test('E41: none without partial messages', () => {
    const counted = { ...assistant('m', text('x')), usage: { output_tokens: 1 } }
    expect(only(eventsOf(counted, result()), 'usage')).toStrictEqual([])
  })
})

test('E3: a stream of a sub-agent is kept apart from the main one', () => {
  const nested = { parent_tool_use_id: 'agent' }
  const events = eventsOf(
    messageStart('m'),
    textStart(),
    textDelta('main'),
    stream({ type: 'message_start', message: { id: 's' } }, nested),
    stream({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'sub' } }, nested),
    stream({ type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'hm' } }, nested),
    textDelta('.'),
  )
  expect(events.slice(0, 4)).toStrictEqual([
    { type: 'chat:delta', sessionId, text: 'main', messageId: 'm#0' },
    { type: 'chat:delta', sessionId, text: 'sub', messageId: 's#0', parentToolUseId: 'agent' },
    { type: 'chat:thinking', sessionId, text: 'hm', messageId: 's#t0', parentToolUseId: 'agent' },
    { type: 'chat:delta', sessionId, text: '.', messageId: 'm#0' },
  ])
})
