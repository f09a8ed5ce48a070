import { callError, toCallError } from '@chirality/centre'
import { CodedError, HarnessError } from '@chirality/core'
import { PersonaError } from '@chirality/personas'
import { ProjectLockedError, parseExport, StorageError } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { faultOf, toHttpError } from './http-error.ts'

test.each<[unknown, number, string]>([
  [new HarnessError('m', 'auth_failed', 'codex'), 412, 'auth_failed'],
  [new StorageError('no-space', '/p', 'm'), 503, 'no-space'],
  [new PersonaError('persona-unsafe', 'f', { message: 'm' }), 403, 'persona-unsafe'],
  [new ProjectLockedError('/p', { pid: 1, address: 'a', since: '' }), 409, 'project-locked'],
  [callError('too-large', 'm'), 413, 'too-large'],
  [thrownBy(() => parseExport('{}', '/p')), 400, 'import-not-an-export'],
  [z.string().safeParse(1).error, 400, 'invalid-input'],
])('%s is answered with %i and its own code', (error, status, code) => {
  expect(toHttpError(error)).toMatchObject({ status, code })
})

test.each([
  ['an error without a mark', Object.assign(new Error('secret'), { code: 'not-found' })],
  ['a code that is not published', new CodedError('index-damaged', 'secret')],
  ['a code that every object has', new CodedError('toString', 'secret')],
  ['what is no error', 'secret'],
])('%s stays in the server', (_what, error) => {
  const answer = toCallError(error)
  expect(answer).toMatchObject({ code: 'internal', cause: error })
  expect(answer.message).not.toContain('secret')
})

function thrownBy(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

test('the cause of an internal error is reported, and not what its caller was told', () => {
  const cause = new Error('EACCES: a path')
  expect(faultOf(toCallError(cause))).toBe(cause)
  expect(faultOf(cause)).toBe(cause)
  const refused = callError('not-found', 'gone')
  expect(faultOf(refused)).toBe(refused)
})
