import { describe, expect, test } from 'vitest'
import {
  appEvents,
  appMessage,
  appStatuses,
  appTurnCompleted,
  appTurnStarted,
  completed,
  execEvents,
  itemCompleted,
  itemStarted,
  notification,
  only,
  started,
  textDelta,
  threadStarted,
} from '../../../../test/support/codex-lines.ts'

describe('a plan that the agent proposes', () => {
  const plan = { type: 'plan', id: 'plan_1', text: '1. Look' }

  test('C13: is text', () => {
    const delta = notification('item/plan/delta', { itemId: 'plan_1', delta: '1. ' })
    const events = appEvents(appTurnStarted(), itemStarted({ ...plan, text: '' }), delta, itemCompleted(plan))
    expect(events.filter(event => event.type.startsWith('chat:'))).toMatchObject([
      { type: 'chat:delta', text: '1. ' },
      { type: 'chat:message', messageId: 'turn-1:plan_1', text: '1. Look' },
    ])
  })

  test('C13: and the answer of a turn without a message', () => {
    const alone = appEvents(appTurnStarted(), itemCompleted(plan), appTurnCompleted())
    expect(only(alone, 'chat:complete')).toMatchObject([{ text: '1. Look' }])
    const both = appEvents(
      appTurnStarted(),
      itemCompleted(appMessage('See above')),
      itemCompleted(plan),
      appTurnCompleted(),
    )
    expect(only(both, 'chat:complete')).toMatchObject([{ text: 'See above' }])
  })
})

describe('user messages', () => {
  const user = (text: string, id: string) => ({ type: 'userMessage', id, content: [{ type: 'text', text }] })

  test('C14: the first is the turn itself, a later one is a notice', () => {
    const lines = [user('go', 'u1'), user('no, left', 'u2')].flatMap(item => [
      itemStarted(item),
      itemCompleted(item),
    ])
    expect(appStatuses(appTurnStarted(), ...lines)).toMatchObject([
      { status: 'notice', message: 'no, left', data: { kind: 'user_message', text: 'no, left' } },
    ])
  })

  test('C14: every turn has a first one', () => {
    const lines = [itemCompleted(user('go', 'u1')), appTurnCompleted()]
    expect(appStatuses(appTurnStarted(), ...lines, appTurnStarted('turn-2'), ...lines)).toStrictEqual([])
  })
})

describe('compaction', () => {
  const item = { type: 'contextCompaction', id: 'c1' }

  test('C62: has a beginning and an end', () => {
    const statuses = appStatuses(appTurnStarted(), itemStarted(item), itemCompleted(item))
    expect(statuses.map(event => event.status)).toStrictEqual(['compacting', 'compacted'])
  })

  test('C62: the notification of older versions is told only where there is no item', () => {
    const note = notification('thread/compacted')
    expect(appStatuses(appTurnStarted(), note)).toMatchObject([{ status: 'compacted' }])
    expect(appStatuses(appTurnStarted(), itemCompleted(item), note)).toHaveLength(1)
    expect(appStatuses(appTurnStarted(), itemCompleted(item), note, itemCompleted(item))).toHaveLength(2)
  })
})

describe('C65: other items are quiet lines', () => {
  test.each([
    [
      { type: 'subAgentActivity', id: 'a', kind: 'started', agentThreadId: 't2', agentPath: '/team/helper' },
      {
        status: 'task',
        message: 'Sub-agent /team/helper started',
        data: { status: 'started', agentThreadId: 't2', agentPath: '/team/helper' },
      },
    ],
    [
      { type: 'hookPrompt', id: 'h', fragments: [{ text: 'be brief', hookRunId: 'r' }] },
      { status: 'hook', message: 'Hook: be brief', data: { output: 'be brief' } },
    ],
    [
      { type: 'enteredReviewMode', id: 'r', review: 'current changes' },
      { status: 'notice', message: 'Review: current changes' },
    ],
    [
      { type: 'exitedReviewMode', id: 'r', review: 'Two findings\nOne …' },
      { status: 'notice', message: 'Two findings', data: { review: 'Two findings\nOne …' } },
    ],
  ])('C65: %j', (item, expected) => {
    expect(appStatuses(appTurnStarted(), itemStarted(item), itemCompleted(item))).toMatchObject([expected])
  })
})

describe('items that nothing is known of', () => {
  test('C27: are kept whole', () => {
    const item = { type: 'hologram', id: 'x' }
    expect(appEvents(appTurnStarted(), itemCompleted(item)).at(-1)).toStrictEqual({
      type: 'native:unknown',
      sessionId: 'ours',
      harness: 'codex',
      nativeType: 'item/hologram',
      raw: item,
    })
    expect(only(execEvents(threadStarted(), started(item), completed(item)), 'native:unknown')).toHaveLength(
      2,
    )
  })

  test.each([undefined, null, 7, {}, { type: 7 }])('C27: an event whose item is %j is one too', item => {
    const event = { type: 'item.completed', item }
    expect(execEvents(threadStarted(), event).at(-1)).toMatchObject({
      type: 'native:unknown',
      nativeType: 'item/completed',
      raw: event,
    })
  })

  test('a text that is read from the middle of a spool has the id that it would have had', () => {
    const events = appEvents(itemCompleted(appMessage('late')), textDelta('x', 'msg_2'))
    expect(only(events, 'chat:message')[0]).toMatchObject({ messageId: 'turn-1:msg_1' })
    expect(only(events, 'chat:delta')).toMatchObject([{ messageId: 'turn-1:msg_2' }])
    const again = appEvents(itemCompleted(appMessage('a')), appTurnStarted(), itemCompleted(appMessage('b')))
    expect(only(again, 'chat:message').map(event => event.messageId)).toStrictEqual([
      'turn-1:msg_1',
      'turn-1:msg_1~2',
    ])
  })
})
