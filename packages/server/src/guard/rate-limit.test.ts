import { expect, test } from 'vitest'
import { RateLimit } from './rate-limit.ts'

test('takes a burst, then as many as time brings', () => {
  let now = 0
  const limit = new RateLimit({ burst: 3, perSecond: 2, now: () => now })
  expect([limit.take(), limit.take(), limit.take(), limit.take()]).toEqual([true, true, true, false])
  now = 500
  expect([limit.take(), limit.take()]).toEqual([true, false])
  now = 60_000
  expect([limit.take(3), limit.take()]).toEqual([true, false])
})
