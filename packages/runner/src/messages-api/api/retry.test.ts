import { expect, test } from 'vitest'
import { ApiError } from './api-error.ts'
import { pause, retryDelayMs } from './retry.ts'

const error = (retryAfterMs?: number) =>
  new ApiError('busy', { status: 529, type: 'overloaded_error', retryAfterMs })

test('waits twice as long each time, up to a limit', () => {
  const never = () => 0
  expect([1, 2, 3, 4].map(attempt => retryDelayMs(attempt, error(), never))).toEqual([500, 1000, 2000, 4000])
  expect(retryDelayMs(50, error(), never)).toBe(32_000)
})

test('a quarter of the retry delay is random', () => {
  expect(retryDelayMs(1, error(), () => 1)).toBe(375)
})

test('waits as long as the API asks, unless that is absurd', () => {
  expect(retryDelayMs(1, error(1234))).toBe(1234)
  expect(retryDelayMs(1, error(0))).toBe(0)
  expect(retryDelayMs(1, error(24 * 3600_000), () => 0)).toBe(500)
})

test('a pause rejects when its signal fires', async () => {
  const stop = new AbortController()
  const waiting = pause(600_000, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
  await expect(pause(600_000, stop.signal)).rejects.toThrow('stopped')
})
