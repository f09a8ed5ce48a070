import { describe, expect, test } from 'vitest'
import {
  appError,
  appEvents,
  appMessage,
  appReasoning,
  appTurnCompleted,
  appTurnStarted,
  command,
  completed,
  error,
  execEvents,
  itemCompleted,
  itemStarted,
  message,
  notification,
  only,
  reasoning,
  started,
  summaryDelta,
  textDelta,
  threadStarted,
} from '../../../test/support/codex-lines.ts'

const sessionId = 'ours'
const broken = appError({ message: 'Reconnecting... 1/5', additionalDetails: 'cut' }, true)

/** Without what is not said. */
function said(...lines: unknown[]) {
  return appEvents(appTurnStarted(), ...lines).filter(event => event.type.startsWith('chat:'))
}

test('E84: a text that is longer than any text may be is told up to the limit, then that there is more, once', () => {
  const events = appEvents(appTurnStarted(), ...Array(200).fill(textDelta('x'.repeat(4 * 1024 * 1024))))
  expect(only(events, 'chat:delta')).toHaveLength(16)
  expect(only(events, 'status')).toMatchObject([{ level: 'warn', data: { kind: 'text_too_long' } }])
})

describe('text', () => {
  test('C10: pieces, then the whole, under one id', () => {
    const lines = [
      itemStarted(appMessage('')),
      textDelta('Hel'),
      textDelta('lo'),
      itemCompleted(appMessage('Hello')),
    ]
    const messageId = 'turn-1:msg_1'
    expect(said(...lines)).toStrictEqual([
      { type: 'chat:delta', sessionId, text: 'Hel', messageId },
      { type: 'chat:delta', sessionId, text: 'lo', messageId },
      { type: 'chat:message', sessionId, messageId, text: 'Hello' },
    ])
  })

  test('C10: exec sends only the complete message', () => {
    expect(execEvents(threadStarted(), completed(message('Hello'))).slice(1)).toStrictEqual([
      { type: 'chat:message', sessionId, messageId: 'turn-1:item_0', text: 'Hello' },
    ])
  })

  test('C10: a message without text is nothing, and takes back what was streamed of it', () => {
    expect(said(itemStarted(appMessage('')), itemCompleted(appMessage('')))).toStrictEqual([])
    expect(execEvents(threadStarted(), completed(message(''))).slice(1)).toStrictEqual([])
    expect(said(textDelta('x'), itemCompleted(appMessage(''))).at(-1)).toMatchObject({ discarded: true })
  })

  test('C10: a message that does not repeat its text keeps the streamed one', () => {
    const lines = [textDelta('kept'), itemCompleted({ type: 'agentMessage', id: 'msg_1' })]
    expect(said(...lines).at(-1)).toMatchObject({ type: 'chat:message', text: 'kept' })
  })

  test('C3: an id that a provider uses again names another message', () => {
    const twice = [itemCompleted(appMessage('one')), itemCompleted(appMessage('two'))]
    expect(only(said(...twice), 'chat:message').map(event => event.messageId)).toStrictEqual([
      'turn-1:msg_1',
      'turn-1:msg_1~2',
    ])
  })
})

describe('reasoning', () => {
  test('C10: the parts of the summary are joined by newlines in both voices', () => {
    const streamed = [
      itemStarted(appReasoning([])),
      notification('item/reasoning/summaryPartAdded', { itemId: 'rs_1', summaryIndex: 0 }),
      summaryDelta('part '),
      summaryDelta('A'),
      summaryDelta('part B', 1),
      itemCompleted(appReasoning(['part A', 'part B'])),
    ]
    const messageId = 'turn-1:rs_1'
    expect(said(...streamed)).toStrictEqual([
      { type: 'chat:thinking', sessionId, text: 'part ', messageId },
      { type: 'chat:thinking', sessionId, text: 'A', messageId },
      { type: 'chat:thinking', sessionId, text: '\npart B', messageId },
      { type: 'chat:thinking', sessionId, messageId, text: 'part A\npart B', final: true },
    ])
    expect(execEvents(threadStarted(), completed(reasoning('part A\npart B'))).slice(1)).toStrictEqual([
      { type: 'chat:thinking', sessionId, messageId: 'turn-1:item_0', text: 'part A\npart B', final: true },
    ])
  })

  test('C10: raw reasoning is shown where there is no summary', () => {
    const raw = { type: 'reasoning', id: 'rs_1', summary: [], content: ['raw'] }
    const delta = notification('item/reasoning/textDelta', { itemId: 'rs_1', delta: 'raw', contentIndex: 0 })
    expect(said(delta, itemCompleted(raw)).map(event => 'text' in event && event.text)).toStrictEqual([
      'raw',
      'raw',
    ])
    expect(said(summaryDelta('sum'), delta, itemCompleted({ ...raw, summary: ['sum'] }))).toMatchObject([
      { text: 'sum' },
      { text: 'sum', final: true },
    ])
  })

  test('C10: empty reasoning gives no event', () => {
    expect(said(itemStarted(appReasoning([])), itemCompleted(appReasoning([])))).toStrictEqual([])
  })
})

describe('text that nothing finishes', () => {
  test('C11: a turn that ends keeps it as far as it came', () => {
    const events = said(textDelta('half'), summaryDelta('hm'), appTurnCompleted({ status: 'interrupted' }))
    expect(events.slice(2)).toStrictEqual([
      { type: 'chat:message', sessionId, messageId: 'turn-1:msg_1', text: 'half', aborted: true },
      { type: 'chat:thinking', sessionId, messageId: 'turn-1:rs_1', text: 'hm', final: true },
    ])
  })

  test('C11: so does output that ends', () => {
    expect(said(textDelta('half')).at(-1)).toMatchObject({ type: 'chat:message', aborted: true })
  })

  test('C11: a message cut off by one that a person added keeps what it had', () => {
    const events = said(
      textDelta('a b'),
      itemStarted(appMessage('', 'msg_2')),
      textDelta('new', 'msg_2'),
      itemCompleted(appMessage('new', 'msg_2')),
    )
    expect(only(events, 'chat:message')).toMatchObject([
      { messageId: 'turn-1:msg_1', text: 'a b', aborted: true },
      { messageId: 'turn-1:msg_2', text: 'new' },
    ])
  })

  test('C11: text of a broken stream is withdrawn once the next attempt says something', () => {
    const events = said(
      textDelta('Hell'),
      broken,
      itemStarted(appMessage('', 'msg_2')),
      textDelta('Howdy', 'msg_2'),
      itemCompleted(appMessage('Howdy', 'msg_2')),
    )
    expect(events).toMatchObject([
      { type: 'chat:delta', text: 'Hell' },
      { type: 'chat:message', messageId: 'turn-1:msg_1', text: '', discarded: true },
      { type: 'chat:delta', text: 'Howdy' },
      { type: 'chat:message', text: 'Howdy' },
    ])
  })

  test('C11: and stays if there is no next attempt', () => {
    const events = said(textDelta('Hell'), broken, appTurnCompleted({ status: 'failed' }))
    expect(events.at(-1)).toMatchObject({ type: 'chat:message', text: 'Hell', aborted: true })
  })

  test('C11: and is withdrawn if the turn succeeds without another word', () => {
    const events = said(textDelta('Hell'), broken, appTurnCompleted())
    expect(only(events, 'chat:message')).toMatchObject([{ messageId: 'turn-1:msg_1', discarded: true }])
    expect(only(said(textDelta('cut'), appTurnCompleted()), 'chat:message')).toMatchObject([
      { aborted: true },
    ])
  })

  test('C11: reasoning of a broken stream is withdrawn too', () => {
    const events = said(summaryDelta('hm'), broken, itemStarted(appMessage('', 'msg_2')))
    expect(events.at(-1)).toStrictEqual({
      type: 'chat:thinking',
      sessionId,
      messageId: 'turn-1:rs_1',
      text: '',
      final: true,
    })
  })
})

describe('C12: what is said again after a broken stream', () => {
  const again = (text: string, id: string) => [
    itemStarted(appMessage('', id)),
    ...text.split(/(?<= )/).map(piece => textDelta(piece, id)),
    itemCompleted(appMessage(text, id)),
  ]

  test('C12: is not shown twice, not even while it is streamed', () => {
    const lines = [
      ...again('Said once', 'msg_1'),
      broken,
      ...again('Said once', 'msg_2'),
      ...again('More', 'msg_3'),
    ]
    const events = said(...lines)
    expect(only(events, 'chat:delta').map(event => event.text)).toStrictEqual(['Said ', 'once', 'More'])
    expect(only(events, 'chat:message').map(event => event.text)).toStrictEqual(['Said once', 'More'])
  })

  test('C12: in exec as well', () => {
    const lines = [
      completed(reasoning('hm', 'item_0')),
      completed(message('Said once', 'item_1')),
      error('Reconnecting... 1/5 (cut)'),
      completed(reasoning('hm', 'item_2')),
      completed(message('Said once', 'item_3')),
      completed(message('More', 'item_4')),
    ]
    const events = execEvents(threadStarted(), ...lines)
    expect(only(events, 'chat:message').map(event => event.text)).toStrictEqual(['Said once', 'More'])
    expect(only(events, 'chat:thinking')).toHaveLength(1)
  })

  test('C12: through several broken streams', () => {
    const once = again('Same', 'msg_1')
    const events = said(...once, broken, ...again('Same', 'msg_2'), broken, ...again('Same', 'msg_3'))
    expect(only(events, 'chat:message')).toHaveLength(1)
  })

  test('C12: shown in full where it goes another way', () => {
    const events = said(...again('Let me look', 'msg_1'), broken, ...again('Let me think', 'msg_2'))
    expect(only(events, 'chat:delta').map(event => event.text)).toStrictEqual([
      'Let ',
      'me ',
      'look',
      'Let me think',
    ])
    expect(only(events, 'chat:message').map(event => event.text)).toStrictEqual([
      'Let me look',
      'Let me think',
    ])
  })

  test('C12: the same words are no repetition without a broken stream', () => {
    expect(only(said(...again('ok', 'msg_1'), ...again('ok', 'msg_2')), 'chat:message')).toHaveLength(2)
  })

  test('C12: nor after the agent did something', () => {
    const lines = [
      completed(message('ok', 'item_0')),
      started(command({ id: 'item_1' })),
      completed(command({ id: 'item_1', exit_code: 0, status: 'completed' })),
      error('Reconnecting... 1/5 (cut)'),
      completed(message('ok', 'item_2')),
    ]
    expect(only(execEvents(threadStarted(), ...lines), 'chat:message')).toHaveLength(2)
  })

  test('C12: it is still the answer of the turn', () => {
    const lines = [...again('Same', 'msg_1'), broken, ...again('Same', 'msg_2'), appTurnCompleted()]
    expect(only(said(...lines), 'chat:complete')).toMatchObject([{ text: 'Same' }])
  })
})
