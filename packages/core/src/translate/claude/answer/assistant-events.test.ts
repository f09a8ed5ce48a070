import { describe, expect, test } from 'vitest'
import {
  apiErrorMessage,
  assistant,
  eventsOf,
  failure,
  init,
  only,
  result,
  statuses,
  system,
  text,
  thinking,
  toolResult,
  toolStart,
  toolUse,
} from '../../../../test/support/claude-lines.ts'

const sessionId = 'ours'

describe('tools', () => {
  test('E21: a call that comes whole has its input in the start', () => {
    expect(eventsOf(assistant('m', toolUse('t1', { command: 'ls' })))).toStrictEqual([
      {
        type: 'tool:start',
        sessionId,
        toolUseId: 't1',
        name: 'Bash',
        input: { command: 'ls' },
        facts: { kind: 'execute', label: 'Bash', object: 'ls', command: 'ls' },
      },
    ])
  })

  test('E20: one start per call, whatever repeats it', () => {
    const events = eventsOf(
      toolStart('t1'),
      toolStart('t1'),
      assistant('m', toolUse('t1')),
      assistant('m', toolUse('t1')),
    )
    expect(only(events, 'tool:start')).toHaveLength(1)
  })

  test('calls that run at the model API are tools too, with their results', () => {
    const events = eventsOf(
      assistant('m', { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } }),
      assistant('m', {
        type: 'web_search_tool_result',
        tool_use_id: 's1',
        content: [{ type: 'web_search_result', title: 'A page', url: 'https://a.example' }],
      }),
    )
    expect(events).toStrictEqual([
      {
        type: 'tool:start',
        sessionId,
        toolUseId: 's1',
        name: 'web_search',
        input: { query: 'x' },
        facts: { kind: 'fetch', label: 'Search', object: 'x' },
      },
      {
        type: 'tool:result',
        sessionId,
        toolUseId: 's1',
        content: '[web_search_result A page]',
        isError: false,
      },
    ])
  })
})

test('one event can hold several blocks, or a bare string', () => {
  expect(
    eventsOf(assistant('m', [thinking('hm'), text('one'), toolUse('t1')])).map(event => event.type),
  ).toStrictEqual(['chat:thinking', 'chat:message', 'tool:start'])
  expect(eventsOf(assistant('m', 'plain'))).toMatchObject([{ type: 'chat:message', text: 'plain' }])
})

test('E3: text, thinking and tools of a sub-agent carry the call that started it', () => {
  const nested = { parent_tool_use_id: 'agent' }
  const events = eventsOf(
    assistant('main', toolUse('agent', {}, 'Agent')),
    assistant('sub', thinking('hm'), nested),
    assistant('sub', text('looking'), nested),
    assistant('sub', toolUse('t1'), nested),
    toolResult('t1', 'ok', nested),
    assistant('main', text('next')),
  )
  expect(
    events.map(event => [event.type, 'parentToolUseId' in event ? event.parentToolUseId : null]),
  ).toStrictEqual([
    ['tool:start', null],
    ['chat:thinking', 'agent'],
    ['chat:message', 'agent'],
    ['tool:start', 'agent'],
    ['tool:result', 'agent'],
    ['chat:message', null],
  ])
})

describe('E15: the message that repeats an API failure', () => {
  const message = apiErrorMessage('server_error', 'API Error: 500')

  test('is not chat when the result says the same', () => {
    const events = eventsOf(message, failure({ result: 'API Error: 500' }))
    expect(events.map(event => event.type)).toStrictEqual(['session:error'])
  })

  test('is a notice when the turn went on all the same', () => {
    const notice = {
      type: 'status',
      sessionId,
      status: 'notice',
      message: 'API Error: 500',
      level: 'warn',
      data: { kind: 'api_error' },
    }
    expect(eventsOf(message, assistant('m', text('again')))[0]).toStrictEqual(notice)
    expect(eventsOf(message, result())[0]).toStrictEqual(notice)
  })

  test('is a notice when a sub-agent failed', () => {
    const nested = { ...message, parent_tool_use_id: 'agent' }
    expect(statuses(nested)).toMatchObject([
      { status: 'notice', level: 'error', message: 'API Error: 500', parentToolUseId: 'agent' },
    ])
  })

  test('does not affect a later turn', () => {
    const events = eventsOf(message, failure(), init(), failure({ subtype: 'error_during_execution' }))
    expect(only(events, 'session:error').map(event => event.code)).toStrictEqual(['api_error', 'unknown'])
  })
})

describe('E16: what a slash command prints', () => {
  test('is chat, without a model', () => {
    expect(eventsOf(assistant('u1', text('## Context Usage'), { model: '<synthetic>' }))).toStrictEqual([
      { type: 'chat:message', sessionId, messageId: 'u1#0', text: '## Context Usage' },
    ])
    expect(eventsOf(system('local_command_output', { content: 'Total cost: $0', uuid: 'u2' }))).toStrictEqual(
      [{ type: 'chat:message', sessionId, messageId: 'u2#0', text: 'Total cost: $0' }],
    )
  })

  test('is nothing when it prints nothing', () => {
    expect(eventsOf(assistant('u1', text('(no content)'), { model: '<synthetic>' }))).toStrictEqual([])
    expect(eventsOf(system('local_command_output', { content: '' }))).toStrictEqual([])
  })
})

describe('E18: a message that another one replaces', () => {
  const said = assistant('m1', [thinking('hm'), text('first'), toolUse('t1')], { uuid: 'u1' })
  const withdrawn = [
    { type: 'chat:thinking', sessionId, messageId: 'm1#t0', text: '', final: true },
    { type: 'chat:message', sessionId, messageId: 'm1#1', text: '', discarded: true },
    {
      type: 'tool:result',
      sessionId,
      toolUseId: 't1',
      content: 'The model took this call back before it ran.',
      isError: true,
    },
  ]

  test('is withdrawn, its unanswered calls too', () => {
    const events = eventsOf(said, assistant('m2', text('second'), { supersedes: ['u1', 'never-seen'] }))
    expect(events.slice(3, 6)).toStrictEqual(withdrawn)
    expect(events[6]).toMatchObject({ type: 'chat:message', messageId: 'm2#0', text: 'second' })
  })

  test('is withdrawn as well by a refusal that falls back to another model', () => {
    const fallback = system('model_refusal_fallback', {
      content: 'Switched',
      retracted_message_uuids: ['u1'],
    })
    const events = eventsOf(said, fallback)
    expect(events.slice(3, 6)).toStrictEqual(withdrawn)
    expect(events[6]).toMatchObject({ type: 'status', status: 'model_fallback', message: 'Switched' })
  })

  test('keeps the result of a call that ran', () => {
    const events = eventsOf(said, toolResult('t1', 'ran'), assistant('m2', text('x'), { supersedes: ['u1'] }))
    expect(only(events, 'tool:result')).toHaveLength(1)
  })
})
