import { expect, test } from 'vitest'
import { errorCommand, errorHelp } from './error-help.ts'

test('what mends it in a terminal is said as a command', () => {
  expect(errorCommand('auth_failed', 'claude-code')).toBe('claude auth login')
  expect(errorCommand('not_installed', 'codex')).toBe('npm install -g @openai/codex')
  expect(errorCommand('auth_failed', 'messages-api')).toBeUndefined()
  expect(errorCommand('rate_limited', 'codex')).toBeUndefined()
  expect(errorCommand('auth_failed', null)).toBeUndefined()
})

test('a failure that a person can do something about says what', () => {
  expect(errorHelp('auth_failed')).toBe('Log the agent in, then retry.')
  expect(errorHelp('interrupted')).toBeUndefined()
})
