import { expect, test } from 'vitest'
import { errorCommand, errorHelp } from './error-help.ts'

const agent = { install: 'npm install -g agent', login: { command: 'agent login', variable: 'AGENT_KEY' } }
const keyOnly = { login: { variable: 'AGENT_KEY' } }

test('what mends it in a terminal is said as a command', () => {
  expect(errorCommand({ code: 'auth_failed' }, agent)).toBe('agent login')
  expect(errorCommand({ code: 'not_installed' }, agent)).toBe('npm install -g agent')
  expect(errorCommand({ code: 'auth_failed' }, keyOnly)).toBeUndefined()
  expect(errorCommand({ code: 'rate_limited' }, agent)).toBeUndefined()
  expect(errorCommand({ code: 'auth_failed' }, undefined)).toBeUndefined()
})

test('a failure that a person can do something about says what', () => {
  expect(errorHelp({ code: 'auth_failed' })).toBe('Log the agent in, then retry.')
  expect(errorHelp({ code: 'interrupted' })).toBeUndefined()
})

test('against a key in the environment a login does not help: the variable is named', () => {
  const refused = { code: 'auth_failed', credential: 'ANTHROPIC_API_KEY' } as const
  expect(errorCommand(refused, agent)).toBeUndefined()
  expect(errorHelp(refused)).toContain('The key in ANTHROPIC_API_KEY was refused.')
})
