import type { Envelope } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { advance, filterEnvelopes, MAX_GAP_MS, nativeOf, summaryOf } from './raw.logic.ts'

const envelope = (seq: number, ms: number, text: string): Envelope => ({
  seq,
  at: new Date(ms).toISOString(),
  sessionId: 's',
  turnId: 't',
  event: { type: 'chat:delta', sessionId: 's', text, messageId: 'm' },
})

const log = [
  envelope(1, 0, 'one'),
  envelope(2, 100, 'two'),
  envelope(3, 200, 'three'),
  envelope(4, 3_600_000, 'four'),
]

describe('advance', () => {
  test('time brings the events that happened in it', () => {
    const first = advance(log, { index: 0, leftMs: 0 }, 0)
    expect(first).toEqual({ index: 1, leftMs: 0 })
    expect(advance(log, first, 150)).toEqual({ index: 2, leftMs: 50 })
    expect(advance(log, { index: 2, leftMs: 50 }, 50)).toEqual({ index: 3, leftMs: 0 })
  })

  test('an hour of silence is short, and the end is the end', () => {
    expect(advance(log, { index: 3, leftMs: 0 }, MAX_GAP_MS)).toEqual({ index: 4, leftMs: 0 })
    expect(advance(log, { index: 4, leftMs: 0 }, 1000)).toEqual({ index: 4, leftMs: 0 })
  })

  test('a clock that jumped back holds nothing up', () => {
    expect(advance([envelope(1, 5000, 'a'), envelope(2, 0, 'b')], { index: 1, leftMs: 0 }, 0).index).toBe(2)
  })
})

test('a filter takes words that must and words that must not be there', () => {
  const found = (text: string) => filterEnvelopes(log, text).map(({ seq }) => seq)
  expect([found(''), found('delta T'), found('-three -one'), found('nothing')]).toEqual([
    [1, 2, 3, 4],
    [1, 2, 3, 4],
    [2, 4],
    [],
  ])
})

test('a line names what differs', () => {
  expect(summaryOf(envelope(1, 0, 'one'))).toBe('{"text":"one","messageId":"m"}')
})

test('the native event is there where it was kept', () => {
  const raw = { type: 'future' }
  const unknown: Envelope = {
    ...envelope(1, 0, ''),
    event: { type: 'native:unknown', sessionId: 's', harness: 'codex', nativeType: 'future', raw },
  }
  expect([nativeOf(unknown), nativeOf(envelope(1, 0, ''))]).toEqual([raw, undefined])
})
