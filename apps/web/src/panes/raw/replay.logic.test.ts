import type { Envelope } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { advance, MAX_GAP_MS } from './replay.logic.ts'

const envelope = (seq: number, ms: number): Envelope => ({
  seq,
  at: new Date(ms).toISOString(),
  sessionId: 's',
  turnId: 't',
  event: { type: 'chat:delta', sessionId: 's', text: `${seq}`, messageId: 'm' },
})

const log = [envelope(1, 0), envelope(2, 100), envelope(3, 200), envelope(4, 3_600_000)]

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
    expect(advance([envelope(1, 5000), envelope(2, 0)], { index: 1, leftMs: 0 }, 0).index).toBe(2)
  })
})
