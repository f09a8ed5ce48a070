import type { SessionErrorCode } from '@chirality/core'
import { expect, test } from 'vitest'
import { queryEnd } from './query-process.ts'

test.each<[SessionErrorCode, string]>([
  ['overloaded', 'overloaded'],
  ['rate_limited', 'rate_limited'],
  ['interrupted', 'aborted'],
  ['billing', 'unknown'],
])('a turn that failed with %s ends a query with %s', (errorCode, code) => {
  const usage = { input_tokens: 0, output_tokens: 0 }
  expect(queryEnd({ isError: true, error: 'x', errorCode, usage })).toEqual({
    type: 'error',
    error: 'x',
    code,
  })
})
