import { expect, test } from 'vitest'
import { installHelp } from './install-help.ts'

const status = { installed: true, authenticated: true, authType: 'account' } as const

test('what is ready needs no help', () => {
  expect(installHelp({ id: 'claude-code' }, status)).toBeUndefined()
})

test('what is missing has the exact command', () => {
  expect(installHelp({ id: 'codex' }, { ...status, installed: false, authenticated: false })).toEqual({
    command: 'npm install -g @openai/codex',
  })
  expect(
    installHelp({ id: 'codex' }, { ...status, authenticated: false, authInstructions: 'Log in.' }),
  ).toEqual({
    command: 'codex login',
    text: 'Log in.',
  })
})

test('the command that the harness itself names goes before the usual one', () => {
  const authInstructions = 'Run `/opt/codex login`, or set OPENAI_API_KEY.'
  expect(installHelp({ id: 'codex' }, { ...status, authenticated: false, authInstructions })).toEqual({
    command: '/opt/codex login',
    text: authInstructions,
  })
})

test('a harness that is not known here says itself what it needs', () => {
  expect(
    installHelp({ id: 'other' }, { ...status, authenticated: false, authInstructions: 'Set a key.' }),
  ).toEqual({
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
  expect(installHelp({ id: 'codex', versions }, old)).toEqual({ command: 'npm install -g agent@latest' })
})
