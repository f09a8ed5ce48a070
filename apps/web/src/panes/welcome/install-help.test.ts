import { expect, test } from 'vitest'
import { aHarness } from '../../../test/support/harnesses.ts'
import { demoProject } from './demo.ts'
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

test('a harness that is not known here says itself what it needs', () => {
  expect(installHelp('other', { ...status, authenticated: false, authInstructions: 'Set a key.' })).toEqual({
    text: 'Set a key.',
  })
})

test('the demo is offered where there is one', () => {
  const project = { root: '/tmp/demo', name: 'demo', missing: false, lockedBy: null }
  const harness = aHarness({ id: 'messages-api' })
  expect(demoProject([project], [harness])).toMatchObject({ root: '/tmp/demo', harness: 'messages-api' })
  expect(demoProject([{ ...project, missing: true }], [harness])).toBeUndefined()
  expect(demoProject([{ ...project, name: 'demonstration' }], [])).toBeUndefined()
})
