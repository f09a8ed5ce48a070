import { CodedError, HarnessError, HarnessNotInstalledError } from '@chirality/core'
import { PersonaError } from '@chirality/personas'
import { ProjectLockedError, type SessionsErrorCode, StorageError } from '@chirality/sessions'
import { expect, test, vi } from 'vitest'
import { UsageError } from './exit-code.ts'
import { explain } from './explain.ts'

test('wrong usage points to the help', () => {
  const message = 'chirality: No prompt.\nSee `chirality --help`.\n'
  expect(explain(new UsageError('No prompt.'))).toEqual({ message, code: 2 })
})

test('an error before the start of a turn is shown without a stack', () => {
  const message = 'chirality: claude-code is not installed. Install it.\n'
  expect(explain(new HarnessNotInstalledError('claude-code', 'Install it.'))).toEqual({ message, code: 3 })
})

test('an internal error is shown with its stack', () => {
  const { message, code } = explain(new TypeError('x is undefined'))
  expect(code).toBe(1)
  expect(message).toContain('TypeError: x is undefined\n    at ')
  expect(explain('thrown by hand')).toEqual({ message: 'chirality: thrown by hand\n', code: 1 })
})

test.each([
  [new StorageError('not-found', '', 'm'), 1],
  [new StorageError('not-writable', '', 'm'), 2],
  [new StorageError('no-space', '', 'm'), 1],
  [new PersonaError('persona-missing', 'f', { message: 'm' }), 2],
  [coded('search-empty'), 2],
  [coded('import-already-imported'), 1],
  [coded('busy'), 1],
  [new ProjectLockedError('/p', { pid: 1, address: 'a', since: '' }), 1],
  [coded('budget'), 5],
  [coded('unknown'), 1],
  [coded('unsupported'), 2],
  [coded('persona'), 1],
  [coded('persona', new PersonaError('persona-unsafe', 'f', { message: 'm' })), 2],
  [new HarnessError('m', 'auth_failed', 'codex'), 4],
])('%s is expected, and gives %i', (error, code) => {
  expect(explain(error)).toEqual({ message: `chirality: ${error.message}\n`, code })
})

test('a coded error of another copy of the class is known', async () => {
  vi.resetModules()
  const other = await import('@chirality/core')
  const error = new other.HarnessNotInstalledError('codex', 'Install it.')
  expect(error).not.toBeInstanceOf(CodedError)
  expect(explain(error)).toEqual({ message: 'chirality: codex is not installed. Install it.\n', code: 3 })
})

test('an error that only has a code is a fault of ours', () => {
  const { message, code } = explain(Object.assign(new Error('no such file'), { code: 'not_installed' }))
  expect(code).toBe(1)
  expect(message).toContain('no such file\n    at ')
})

function coded(code: SessionsErrorCode, cause?: unknown): CodedError {
  return new CodedError(code, 'm', cause)
}
