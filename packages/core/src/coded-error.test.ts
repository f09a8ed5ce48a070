import { expect, test, vi } from 'vitest'
import { CodedError, hasCode, isCodedError } from './coded-error.ts'
import { HarnessBusyError } from './harness/errors.ts'

test('a coded error has its code, its message and its cause', () => {
  const cause = new Error('below')
  const error = new CodedError('queue-full', 'Remove some.', cause)
  expect(error).toMatchObject({ name: 'CodedError', code: 'queue-full', message: 'Remove some.', cause })
  expect('cause' in new CodedError('queue-full', 'Remove some.')).toBe(false)
})

test('a coded error is known by its code', () => {
  expect(hasCode(new CodedError('b', 'm'), 'a', 'b')).toBe(true)
  expect(hasCode(new CodedError('b', 'm'), 'a')).toBe(false)
  expect(hasCode(new HarnessBusyError('codex', 's'), 'busy')).toBe(true)
})

test('an error of another copy of the class is known, too', async () => {
  vi.resetModules()
  const other = await import('./coded-error.ts')
  const error = new other.CodedError('a', 'm')
  expect(error).not.toBeInstanceOf(CodedError)
  expect(isCodedError(error)).toBe(true)
})

test.each([
  ['an error of the system', Object.assign(new Error('m'), { code: 'ENOENT' })],
  ['an object with a code', { code: 'a', message: 'm' }],
  ['nothing', undefined],
])('%s is no coded error', (_what, error) => {
  expect(isCodedError(error)).toBe(false)
})
