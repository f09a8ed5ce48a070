import { expect, test } from 'vitest'
import { installHelp } from './install-help.ts'

const agent = { install: 'npm install -g agent', login: { command: 'agent login', variable: 'AGENT_KEY' } }
const status = { installed: true, authenticated: true, authType: 'account' } as const

test('what is ready needs no help', () => {
  expect(installHelp(agent, status)).toBeUndefined()
})

test('what is missing has the exact command', () => {
  expect(installHelp(agent, { ...status, installed: false, authenticated: false })).toEqual({
    command: 'npm install -g agent',
  })
  expect(installHelp(agent, { ...status, authenticated: false, authInstructions: 'Log in.' })).toEqual({
    command: 'agent login',
    text: 'Log in.',
  })
})

test('the command that the harness itself names goes before the usual one', () => {
  const authInstructions = 'Run `/opt/codex login`, or set OPENAI_API_KEY.'
  expect(installHelp(agent, { ...status, authenticated: false, authInstructions })).toEqual({
    command: '/opt/codex login',
    text: 'Or set OPENAI_API_KEY.',
  })
})

test.each([
  ['Run `claude` and type /login, or set A_KEY.', 'Then type /login, or set A_KEY.'],
  ['Run `agent login`.', undefined],
])('the command is not said twice: %s', (authInstructions, text) => {
  const help = installHelp(agent, { ...status, authenticated: false, authInstructions })
  expect(help?.text).toBe(text)
})

test('a harness without a command of its own says what it needs in its status', () => {
  expect(installHelp({}, { ...status, authenticated: false, authInstructions: 'Set a key.' })).toEqual({
    text: 'Set a key.',
  })
})

test('a version that is too old: the command that updates it, whether logged in or not', () => {
  const versions = {
    tested: ['2.0.0'],
    oldest: '1.0.0',
    update: 'Update it with `npm install -g agent@latest`.',
  }
  const old = { ...status, version: '0.9.0', support: 'too-old' } as const
  expect(installHelp({ ...agent, versions }, old)).toEqual({ command: 'npm install -g agent@latest' })
})
