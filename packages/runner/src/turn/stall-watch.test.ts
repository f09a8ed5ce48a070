import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StallWatch } from './stall-watch.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test('silence is reported after each further interval, with its duration', () => {
  const { told, watch } = watched()
  vi.advanceTimersByTime(1_000)
  expect(told).toEqual([500, 1_000])
  watch.end()
  vi.advanceTimersByTime(5_000)
  expect(told).toHaveLength(2)
})

test('output restarts the interval', () => {
  const { told, watch } = watched()
  vi.advanceTimersByTime(400)
  watch.reset()
  vi.advanceTimersByTime(500)
  expect(told).toEqual([])
  vi.advanceTimersByTime(500)
  expect(told).toEqual([600])
  watch.end()
})

test('silence that is expected is not told', () => {
  const { told, watch } = watched({ isExpected: true })
  vi.advanceTimersByTime(5_000)
  expect(told).toEqual([])
  watch.end()
})

function watched({ isExpected = false } = {}) {
  const told: number[] = []
  const watch = new StallWatch({
    stallMs: 500,
    isExpected: () => isExpected,
    onStall: idleMs => void told.push(idleMs),
  })
  return { told, watch }
}
