import { expect, test } from 'vitest'
import { installHelp } from './install-help.ts'

const status = { installed: true, authenticated: true, authType: 'account' } as const

test('what is ready needs no help', () => {
  expect(installHelp('claude-code', status)).toBeUndefined()
})

test('what is missing has the exact command', () => {
  expect(installHelp('codex', { ...status, installed: false, authenticated: false })).toEqual({
    command: 'npm install -g @openai/codex',
  })
  expect(installHelp('codex', { ...status, authenticated: false, authInstructions: 'Log in.' })).toEqual({
    command: 'codex login',
    text: 'Log in.',
  })
})

test('the command that the harness itself names goes before the usual one', () => {
  const authInstructions = 'Run `/opt/codex login`, or set OPENAI_API_KEY.'
  expect(installHelp('codex', { ...status, authenticated: false, authInstructions })).toEqual({
    command: '/opt/codex login',
    text: authInstructions,
  })
})

test('a harness that is not known here says itself what it needs', () => {
  expect(installHelp('other', { ...status, authenticated: false, authInstructions: 'Set a key.' })).toEqual({
    text: 'Set a key.',
  })
})
