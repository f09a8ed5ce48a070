import { expect, test } from 'vitest'
import { errorCommand, errorHelp } from './error-help.ts'

test('what mends it in a terminal is said as a command', () => {
  expect(errorCommand({ code: 'auth_failed' }, 'claude-code')).toBe('claude auth login')
  expect(errorCommand({ code: 'not_installed' }, 'codex')).toBe('npm install -g @openai/codex')
  expect(errorCommand({ code: 'auth_failed' }, 'messages-api')).toBeUndefined()
  expect(errorCommand({ code: 'rate_limited' }, 'codex')).toBeUndefined()
  expect(errorCommand({ code: 'auth_failed' }, null)).toBeUndefined()
})

test('a failure that a person can do something about says what', () => {
  expect(errorHelp({ code: 'auth_failed' })).toBe('Log the agent in, then retry.')
  expect(errorHelp({ code: 'interrupted' })).toBeUndefined()
})

test('against a key in the environment a login does not help: the variable is named', () => {
  const refused = { code: 'auth_failed', credential: 'ANTHROPIC_API_KEY' } as const
  expect(errorCommand(refused, 'claude-code')).toBeUndefined()
  expect(errorHelp(refused)).toContain('The key in ANTHROPIC_API_KEY was refused.')
})
