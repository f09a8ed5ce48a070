import { describe, expect, test } from 'vitest'
import { parseCodexEvent } from './codex-event.ts'
import { NOTIFICATION_METHODS } from './notification-methods.ts'

describe('exec --json', () => {
  test.each([
    'thread.started',
    'turn.started',
    'item.started',
    'item.updated',
    'item.completed',
    'turn.completed',
    'turn.failed',
    'error',
  ])('%s is known, and is the very object that came in', type => {
    const line = { type, extra: 1 }
    expect(parseCodexEvent(line)).toBe(line)
  })

  test('C80: a new type is kept whole', () => {
    const line = { type: 'turn.paused', why: 'x' }
    expect(parseCodexEvent(line)).toStrictEqual({ type: 'unknown', nativeType: 'turn.paused', raw: line })
  })

  test('fields of the wrong type do not matter', () => {
    const line = { type: 'item.completed', item: 7 }
    expect(parseCodexEvent(line)).toBe(line)
  })
})

describe('app-server', () => {
  test.each([...NOTIFICATION_METHODS])('%s is a known notification', method => {
    const line = { method, params: {} }
    expect(parseCodexEvent(line)).toBe(line)
  })

  test('C80: a notification with a new name is kept whole', () => {
    const line = { method: 'thread/somethingNew', params: { threadId: 'a' } }
    expect(parseCodexEvent(line)).toStrictEqual({
      type: 'unknown',
      nativeType: 'thread/somethingNew',
      raw: line,
    })
  })

  test.each([0, 7, 'seven'])(
    'a request with the id %j is one whatever it asks: it has to be answered',
    id => {
      const line = { id, method: 'item/somethingNew', params: {} }
      expect(parseCodexEvent(line)).toBe(line)
    },
  )

  test.each([
    [{ id: 1, result: {} }],
    [{ id: 'a', result: null }],
    [{ error: { code: -32600, message: 'no' }, id: 1 }],
    [{ id: null, error: { message: 'not JSON' } }],
  ])('%j is a response', line => {
    expect(parseCodexEvent(line)).toBe(line)
  })

  test('the jsonrpc member is accepted', () => {
    const line = { jsonrpc: '2.0', method: 'turn/started', params: {} }
    expect(parseCodexEvent(line)).toBe(line)
  })
})

describe('neither', () => {
  test.each([
    [null, 'not-an-object'],
    ['text', 'not-an-object'],
    [[1], 'not-an-object'],
    [{}, 'no-type'],
    [{ type: 1 }, 'no-type'],
    [{ type: null, method: 'turn/started' }, 'no-type'],
    [{ id: 1 }, 'no-type'],
    [{ id: {}, result: 1 }, 'no-type'],
    [{ method: 7, id: 1, result: 1 }, 'no-type'],
    [{ method: 'turn/started', id: null }, 'turn/started'],
    [{ type: '__proto__' }, '__proto__'],
    [{ method: 'constructor' }, 'constructor'],
  ])('C80: %j is unknown, as %s', (raw, nativeType) => {
    expect(parseCodexEvent(raw)).toStrictEqual({ type: 'unknown', nativeType, raw })
  })
})
