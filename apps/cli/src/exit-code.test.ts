import { HarnessBusyError, HarnessError, HarnessNotInstalledError } from '@chirality/core'
import { expect, test } from 'vitest'
import { exitCodeOfError, exitCodeOfTurn } from './exit-code.ts'

test.each([
  ['completed', null, 0],
  ['completed', 'api_error', 0],
  ['failed', 'api_error', 1],
  ['failed', null, 1],
  ['failed', 'auth_failed', 4],
  ['crashed', 'process_crashed', 1],
  ['timeout', 'timeout', 1],
  ['max_turns', 'max_turns', 5],
  ['budget', 'budget_exceeded', 5],
  ['interrupted', 'interrupted', 130],
  ['killed', null, 130],
] as const)('a turn that ended as %s with the error %s gives %i', (reason, error, code) => {
  expect(exitCodeOfTurn(reason, error)).toBe(code)
})

test.each([
  [new HarnessNotInstalledError('claude-code'), 3],
  [new HarnessError('no', 'auth_failed', 'claude-code'), 4],
  [new HarnessError('no', 'invalid_query', 'claude-code'), 2],
  [new HarnessError('no', 'unsupported', 'claude-code'), 2],
  [new HarnessError('no', 'aborted', 'claude-code'), 130],
  [new HarnessError('no', 'process_crashed', 'claude-code'), 1],
  [new HarnessBusyError('claude-code', 's'), 1],
])('%s gives %i', (error, code) => {
  expect(exitCodeOfError(error)).toBe(code)
})
