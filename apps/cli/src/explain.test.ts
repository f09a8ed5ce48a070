import * as core from '@chirality/core'
import { HarnessError, HarnessNotInstalledError } from '@chirality/core'
import { PersonaError } from '@chirality/personas'
import {
  ImportError,
  LogError,
  ProjectLockedError,
  SearchError,
  SessionBusyError,
  SessionStartError,
  StorageError,
} from '@chirality/sessions'
import { expect, test } from 'vitest'
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
  [new LogError('no-space', '', 'm'), 1],
  [new PersonaError('missing', 'f', { message: 'm' }), 2],
  [new SearchError('empty', 'm'), 2],
  [new ImportError('already-imported', 'm'), 1],
  [new SessionBusyError('s'), 1],
  [new ProjectLockedError('/p', { pid: 1, address: 'a', since: '' }), 1],
  [new SessionStartError('budget', 'm'), 5],
  [new SessionStartError('unknown', 'm'), 1],
  [new SessionStartError('auth_failed', 'm', new HarnessError('m', 'auth_failed', 'codex')), 4],
])('%s is expected, and gives %i', (error, code) => {
  expect(explain(error)).toEqual({ message: `chirality: ${error.message}\n`, code })
})

test('every error of a harness is known by its name', () => {
  const classes = Object.entries(core).filter(([name]) => /^Harness.*Error$/.test(name))
  expect(classes.length).toBeGreaterThan(1)
  for (const [name] of classes) {
    const error = Object.assign(new Error('m'), { name, code: 'not_installed' })
    expect(explain(error), name).toEqual({ message: 'chirality: m\n', code: 3 })
  }
})
