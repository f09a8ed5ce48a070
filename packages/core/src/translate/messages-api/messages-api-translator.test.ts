import { describe, expect, test } from 'vitest'
import { createMessagesApiTranslator } from './messages-api-translator.ts'

const translate = (...events: Record<string, unknown>[]) => {
  const translator = createMessagesApiTranslator({ sessionId: 's' })
  return events.flatMap((value, index) =>
    translator.translateRecord({ kind: 'json', value, offset: index, bytes: 1 }),
  )
}

test('M1 the words of Claude Code, in our name', () => {
  const init = { type: 'system', subtype: 'init', session_id: 'n', model: 'm', tools: ['read'] }
  expect(translate(init)).toMatchObject([
    { type: 'session:init', harness: 'messages-api', claudeSessionId: 'n' },
  ])
  expect(translate({ type: 'from_the_future' })).toMatchObject([
    { type: 'native:unknown', harness: 'messages-api', nativeType: 'from_the_future' },
  ])
})

test('M2 what is only for whoever looks for a fault is silent, and silence is told', () => {
  expect(translate({ type: 'request' }, { type: 'stream_error' })).toEqual([])
  expect(translate({ type: 'stalled', idle_ms: 120_000 })).toMatchObject([
    { type: 'status', status: 'stalled', message: expect.stringContaining('120 s') },
  ])
})

describe('answers to requests', () => {
  const answer = (response: unknown) => translate({ type: 'control_response', response })

  test('a yes, by whom and by which rule', () => {
    expect(answer({ request_id: 'r', decision: { behavior: 'allow' }, by: 'policy', rule: 'f:1' })).toEqual([
      {
        type: 'permission:resolved',
        sessionId: 's',
        requestId: 'r',
        outcome: 'allowed',
        by: 'policy',
        rule: 'f:1',
      },
    ])
  })

  test.each([
    ['a no', { behavior: 'deny', message: 'No.' }],
    ['nothing', undefined],
    ['nonsense', 7],
  ])('%s is no yes', (_, decision) => {
    expect(answer({ request_id: 'r', decision, by: 'person' })).toMatchObject([{ outcome: 'denied' }])
  })

  test.each([undefined, null, {}, { request_id: 7 }])('%j answers nothing', response => {
    expect(answer(response)).toEqual([])
  })
})

test('a line that is no JSON is kept', () => {
  const translator = createMessagesApiTranslator({ sessionId: 's' })
  expect(
    translator.translateRecord({ kind: 'malformed', text: '{', error: 'no JSON', offset: 0, bytes: 1 }),
  ).toMatchObject([{ type: 'native:unknown', nativeType: 'malformed', harness: 'messages-api' }])
})
