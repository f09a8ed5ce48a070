import { HarnessNotInstalledError } from '@chirality/core'
import { expect, test } from 'vitest'
import { explain } from './explain.ts'
import { UsageError } from './usage-error.ts'

test('wrong usage points to the help', () => {
  const message = 'chirality: No prompt.\nSee `chirality --help`.\n'
  expect(explain(new UsageError('No prompt.'))).toEqual({ message, code: 2 })
})

test('what keeps a turn from starting is told without a stack', () => {
  const message = 'chirality: claude-code is not installed. Install it.\n'
  expect(explain(new HarnessNotInstalledError('claude-code', 'Install it.'))).toEqual({ message, code: 3 })
})

test('a fault of ours is told with its stack', () => {
  const { message, code } = explain(new TypeError('x is undefined'))
  expect(code).toBe(1)
  expect(message).toContain('TypeError: x is undefined\n    at ')
  expect(explain('thrown by hand')).toEqual({ message: 'chirality: thrown by hand\n', code: 1 })
})
