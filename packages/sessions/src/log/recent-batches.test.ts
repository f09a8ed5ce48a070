import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import { RecentBatches } from './recent-batches.ts'

const MILLION = 1024 * 1024

function push(recent: RecentBatches, seq: number, chars: number): void {
  const event = { type: 'chat:delta', sessionId: 's', text: '', messageId: 'm' } as const
  const envelope: Envelope = { seq, at: '2026-01-01T00:00:00.000Z', sessionId: 's', turnId: null, event }
  recent.push([envelope], { lines: 'x'.repeat(chars), omitted: 0 })
}

test('a log holds its newest million characters, and a batch that is larger alone', () => {
  const recent = new RecentBatches()
  for (let seq = 1; seq <= 10; seq += 1) push(recent, seq, MILLION / 4)
  expect(recent.after(5)).toBeUndefined()
  expect(recent.after(6)).toMatchObject([{ seq: 7 }])
  expect(RecentBatches.heldChars).toBe(MILLION)
  push(recent, 11, 3 * MILLION)
  expect(recent.after(9)).toBeUndefined()
  expect(recent.after(10)).toMatchObject([{ seq: 11 }])
  recent.clear()
  expect(RecentBatches.heldChars).toBe(0)
})

test('all logs together hold 8 million characters: the one that was longest without news goes first', () => {
  const logs = Array.from({ length: 12 }, () => new RecentBatches())
  for (const log of logs) for (const seq of [1, 2]) push(log, seq, MILLION / 2)
  expect(RecentBatches.heldChars).toBe(8 * MILLION)
  expect(logs.map(log => log.after(1) !== undefined)).toEqual([
    ...Array(4).fill(false),
    ...Array(8).fill(true),
  ])
  const [first, , , , fifth] = logs
  if (first) push(first, 3, MILLION / 2)
  expect(first?.after(2)).toMatchObject([{ seq: 3 }])
  expect(fifth?.after(0)).toBeUndefined()
  expect(RecentBatches.heldChars).toBe(8 * MILLION)
  for (const log of logs) log.clear()
  expect(RecentBatches.heldChars).toBe(0)
})
