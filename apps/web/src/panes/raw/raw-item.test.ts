import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import type { NativeLine } from '../../state/server/answers.ts'
import { eventItem, lineItem } from './raw-item.ts'

const line = (text: string, more: Partial<NativeLine> = {}): NativeLine => ({
  ...{
    id: 'a.0',
    turnId: 't',
    harness: 'claude-code',
    spool: 'a.ndjson',
    offset: 0,
    bytes: text.length,
    text,
  },
  ...{ cut: false, torn: false, ...more },
})

test.each([
  ['{"type":"system","subtype":"init","session_id":"n","cwd":"/x"}', 'system/init', '{"cwd":"/x"}'],
  [
    '{"type":"stream_event","event":{"type":"content_block_delta","index":0},"uuid":"u"}',
    'stream_event/content_block_delta',
    '{"type":"content_block_delta","index":0}',
  ],
  ['{"method":"item/completed","params":{"threadId":"t"}}', 'item/completed', '{"threadId":"t"}'],
  ['{"type":"item.completed","item":{"id":"i"}}', 'item.completed', '{"item":{"id":"i"}}'],
  ['{"id":4,"result":{}}', 'response', '{"id":4,"result":{}}'],
  ['warning: <b>not JSON</b>', 'text', 'warning: <b>not JSON</b>'],
  ['{"half', 'text', '{"half'],
  ['"a string"', 'text', '"a string"'],
  ['{"type":{"toString":1},"event":null}', 'object', '{"event":null}'],
])('%s is %s', (text, type, summary) => {
  expect(lineItem(line(text))).toMatchObject({ type, summary, text, key: 'a.0', turnId: 't' })
})

test('a line that was cut, or is not finished, is named by its beginning', () => {
  expect(lineItem(line('{"type":"user","mess', { torn: true })).type).toBe('user')
  const cut = lineItem(line('{"type":"user","message":{"content":"aaaa', { cut: true }))
  expect([cut.type, cut.value]).toEqual(['user', undefined])
})

test('a row of an event names what differs', () => {
  const envelope: Envelope = {
    ...{ seq: 7, at: '2026-01-01T00:00:00.000Z', sessionId: 's', turnId: 't' },
    event: { type: 'chat:delta', sessionId: 's', text: 'one', messageId: 'm' },
  }
  expect(eventItem(envelope)).toMatchObject({
    ...{ key: '7', type: 'chat:delta', summary: '{"text":"one","messageId":"m"}' },
  })
})
