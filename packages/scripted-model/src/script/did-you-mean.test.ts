import { expect, test } from 'vitest'
import { didYouMean } from './script.ts'

test.each([
  ['txt', 'text'],
  ['stop_reason', 'stopReason'],
  ['STOPREASON', 'stopReason'],
  ['tol', 'tool'],
  ['completely-else', undefined],
  ['x', undefined],
  ['answr', 'answers'],
  ['retryAfter', 'retryAfterSeconds'],
])('%s: %s', (written, meant) => {
  expect(didYouMean(written, ['text', 'stopReason', 'tool', 'answers', 'retryAfterSeconds'])).toBe(meant)
})
