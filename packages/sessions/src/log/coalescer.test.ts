import type { UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { DeltaCoalescer } from './coalescer.ts'

const sessionId = 's1'
const FOREVER_MS = 1_000_000

/** What comes out when these go in one after another, all within one window. */
function through(events: UIEvent[], turns: (string | null)[] = []): UIEvent[] {
  const coalescer = new DeltaCoalescer(FOREVER_MS)
  const out = events.flatMap((event, i) => coalescer.push(event, turns[i] ?? 't1'))
  return [...out, ...coalescer.take()].map(({ event }) => event)
}

const thinking = (text: string, final?: boolean): UIEvent => ({
  type: 'chat:thinking',
  sessionId,
  messageId: 'm1',
  text,
  ...(final === undefined ? {} : { final }),
})
const input = (delta: string, toolUseId = 'u1'): UIEvent => ({
  type: 'tool:input',
  sessionId,
  toolUseId,
  delta,
})
const text = (value: string, more: object = {}): UIEvent => ({
  type: 'chat:delta',
  sessionId,
  text: value,
  ...more,
})

describe('what belongs together is joined', () => {
  test.each([
    ['thinking', [thinking('a'), thinking('b'), thinking('c')], [thinking('abc')]],
    ['tool input', [input('{'), input('"a'), input('":1}')], [input('{"a":1}')]],
    ['text without an id', [text('a'), text('b'), text('c')], [text('abc')]],
    [
      'text of a sub-agent',
      [
        text('a', { parentToolUseId: 'p' }),
        text('b', { parentToolUseId: 'p' }),
        text('c', { parentToolUseId: 'p' }),
      ],
      [text('abc', { parentToolUseId: 'p' })],
    ],
  ])('%s', (_, events, expected) => {
    expect(through(events)).toEqual(expected)
  })
})

describe('what does not belong together is not', () => {
  const whole: UIEvent = { type: 'tool:input', sessionId, toolUseId: 'u1', input: { a: 1 } }
  test.each([
    ['a final block', [thinking('ab'), thinking('ab', true)]],
    ['whole input', [input('{}'), whole]],
    ['another call', [input('a'), input('b', 'u2'), input('c')]],
    ['another kind', [text('a', { messageId: 'm1' }), thinking('b'), text('c', { messageId: 'm1' })]],
    ['somebody else', [text('a'), text('b', { parentToolUseId: 'p' }), text('c')]],
    ['a field of a later version', [text('a'), text('b', { style: 'bold' }), text('c')]],
  ])('%s', (_, events) => {
    expect(through(events)).toEqual(events)
  })

  test('another turn', () => {
    const events = [text('a'), text('b'), text('c')]
    expect(through(events, ['t1', 't2', null])).toEqual(events)
  })
})

describe('how long pieces wait', () => {
  test('the first not at all, the next until the window is over', () => {
    const coalescer = new DeltaCoalescer(FOREVER_MS)
    expect(coalescer.dueMs).toBeUndefined()
    coalescer.push(text('a'), 't1')
    expect(coalescer.dueMs).toBe(0)
    coalescer.take()
    expect(coalescer.dueMs).toBeUndefined()
    coalescer.push(text('b'), 't1')
    expect(coalescer.dueMs).toBeGreaterThan(0)
  })
})
