import { HarnessError } from '@chirality/core'
import { expect, test } from 'vitest'
import { SpawnError, type SpawnErrorCode } from '../process/program/spawn-error.ts'
import { SpoolError } from '../process/spool/spool-error.ts'
import { startFailure } from './start-failure.ts'

const CLAUDE = { harnessId: 'claude-code', name: 'Claude Code' }

test('a HarnessError is returned unchanged', () => {
  const error = new HarnessError('Busy.', 'busy', 'claude-code')
  expect(startFailure(error, CLAUDE)).toBe(error)
})

test.each<[SpawnErrorCode, string]>([
  ['command-missing', 'not_installed'],
  ['command-not-executable', 'not_installed'],
  ['cwd-missing', 'invalid_query'],
  ['arguments-too-long', 'invalid_query'],
  ['invalid-argument', 'invalid_query'],
  ['too-many-files', 'process_crashed'],
  ['out-of-resources', 'process_crashed'],
  ['unknown', 'process_crashed'],
])('a spawn that failed as %s is %s, with its own advice', (code, expected) => {
  const cause = new SpawnError(code, 'What to do.')
  expect(startFailure(cause, CLAUDE)).toMatchObject({
    code: expected,
    message: 'What to do.',
    harnessId: 'claude-code',
    cause,
  })
})

test('a log that cannot be kept is a wrong project', () => {
  const cause = new SpoolError('not-writable', '/p', 'Make it writable.')
  expect(startFailure(cause, CLAUDE)).toMatchObject({
    code: 'invalid_query',
    message: 'Make it writable.',
    cause,
  })
})

test.each([new Error('odd'), 'odd'])('anything else is said plainly: %s', cause => {
  expect(startFailure(cause, CLAUDE)).toMatchObject({
    code: 'unknown',
    message: 'Claude Code could not be started: odd',
    cause,
  })
})
