import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { joinDeltas } from './deltas.ts'
import type { UIEvent } from './ui-event.ts'

const sessionId = 's1'
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

describe('neighbouring pieces of one text are joined', () => {
  const nested = { parentToolUseId: 'p' }
  test.each([
    ['thinking', [thinking('a'), thinking('b'), thinking('c')], [thinking('abc')]],
    ['tool input', [input('{'), input('"a'), input('":1}')], [input('{"a":1}')]],
    ['text without an id', [text('a'), text('b'), text('c')], [text('abc')]],
    ['text of a sub-agent', [text('a', nested), text('b', nested)], [text('ab', nested)]],
  ])('%s', (_, events, expected) => {
    expect(joinDeltas(events)).toEqual(expected)
  })
})

describe('pieces that do not continue each other are not joined', () => {
  const whole: UIEvent = { type: 'tool:input', sessionId, toolUseId: 'u1', input: { a: 1 } }
  test.each([
    ['a final block', [thinking('ab'), thinking('ab', true)]],
    ['a whole input', [input('{}'), whole]],
    ['another call', [input('a'), input('b', 'u2'), input('c')]],
    ['another kind', [text('a', { messageId: 'm1' }), thinking('b'), text('c', { messageId: 'm1' })]],
    ['another agent', [text('a'), text('b', { parentToolUseId: 'p' }), text('c')]],
    ['a field of a later version', [text('a'), text('b', { style: 'bold' }), text('c')]],
  ])('%s', (_, events) => {
    expect(joinDeltas(events)).toEqual(events)
  })
})

test('a joined piece holds at most 16 K characters, and a longer one stays as it is', () => {
  const joined = joinDeltas([
    ...Array.from({ length: 40 }, () => text('x'.repeat(1000))),
    text('y'.repeat(50_000)),
  ])
  expect(joined.map(event => ('text' in event ? event.text.length : 0))).toEqual([
    16_000, 16_000, 8_000, 50_000,
  ])
})

test('the text of every message is the same, in the same order, however it was cut', () => {
  const pieces = fc.array(fc.tuple(fc.constantFrom('m1', 'm2'), fc.string()))
  fc.assert(
    fc.property(pieces, list => {
      const events = list.map(([messageId, value]) => text(value, { messageId }))
      const textOf = (all: UIEvent[], id: string) =>
        all
          .map(event => ('messageId' in event && event.messageId === id && 'text' in event ? event.text : ''))
          .join('')
      for (const id of ['m1', 'm2']) expect(textOf(joinDeltas(events), id)).toBe(textOf(events, id))
    }),
    { seed: 7 },
  )
})
