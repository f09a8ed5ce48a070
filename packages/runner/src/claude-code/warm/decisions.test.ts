import type { PermissionDecision } from '@chirality/core'
import { expect, test } from 'vitest'
import { claudeAnswer, questionOf } from './requests.ts'

const input = { command: 'rm x' }
const rule = (...contents: (string | undefined)[]) => ({
  type: 'addRules',
  rules: contents.map(ruleContent => ({ toolName: 'Bash', ruleContent })),
  behavior: 'allow',
  destination: 'localSettings',
})
const folder = { type: 'addDirectories', directories: ['/p'], destination: 'session' }
const edits = { type: 'setMode', mode: 'acceptEdits', destination: 'session' }

test.each<[string, PermissionDecision, Record<string, unknown>]>([
  ['allow', { behavior: 'allow' }, { behavior: 'allow', updatedInput: input }],
  [
    'allow with edited input',
    { behavior: 'allow', updatedInput: { command: 'ls' } },
    { behavior: 'allow', updatedInput: { command: 'ls' } },
  ],
  [
    'answers to a question',
    { behavior: 'allow', updatedInput: { ...input, answers: { Which: 'Blue' } } },
    { behavior: 'allow', updatedInput: { ...input, answers: { Which: 'Blue' } } },
  ],
  ['deny', { behavior: 'deny', message: 'Not now.' }, { behavior: 'deny', message: 'Not now.' }],
  [
    'deny without a word',
    { behavior: 'deny', message: ' ' },
    { behavior: 'deny', message: 'The user does not allow this.' },
  ],
  [
    'deny with what is no message',
    { behavior: 'deny', message: 7 } as unknown as PermissionDecision,
    { behavior: 'deny', message: 'The user does not allow this.' },
  ],
  [
    'deny and interrupt',
    { behavior: 'deny', message: 'Stop.', interrupt: true },
    { behavior: 'deny', message: 'Stop.', interrupt: true },
  ],
])('%s', (_name, decision, response) => {
  expect(claudeAnswer({ subtype: 'can_use_tool', input, suggestions: [] }, decision)).toEqual({ response })
})

test.each<[string, unknown[], unknown]>([
  ['one rule before the folder and the mode', [edits, folder, rule('rm x')], rule('rm x')],
  ['one rule before several', [rule('rm x', 'rm y'), rule('rm x')], rule('rm x')],
  ['a rule before the whole tool', [rule(undefined), rule('rm x')], rule('rm x')],
  ['the whole tool before the folder', [folder, rule(undefined)], rule(undefined)],
  ['the folder before the mode', [edits, folder], folder],
  ['the mode when there is nothing else', [edits], edits],
  ['no rule that denies', [{ ...rule('rm x'), behavior: 'deny' }, edits], edits],
])('what is remembered is the narrowest suggestion: %s', (_name, suggestions, narrowest) => {
  const question = { subtype: 'can_use_tool', input, suggestions }
  const always = claudeAnswer(question, { behavior: 'allow', remember: 'always' })
  expect(always.response).toEqual({ behavior: 'allow', updatedInput: input, updatedPermissions: [narrowest] })
  const forSession = claudeAnswer(question, { behavior: 'allow', remember: 'session' })
  expect(forSession.response?.updatedPermissions).toEqual([
    { ...(narrowest as object), destination: 'session' },
  ])
})

test.each<[string, unknown[]]>([
  ['nothing', []],
  ['to skip all permissions', [{ type: 'setMode', mode: 'bypassPermissions', destination: 'session' }]],
  ['what nobody knows', [null, 'x', [], {}, { type: 'fromTheFuture' }, { type: 'addRules', rules: [] }]],
])('where %s is suggested, the agent remembers nothing, which is said', (_name, suggestions) => {
  const question = { subtype: 'can_use_tool', input, suggestions }
  expect(claudeAnswer(question, { behavior: 'allow', remember: 'always' })).toEqual({
    response: { behavior: 'allow', updatedInput: input },
    note: expect.stringContaining('no rule'),
  })
})

test('a no to a request of an unknown kind is an error: what else it takes for a no is unknown', () => {
  const question = { subtype: 'from_the_future', input: {}, suggestions: [] }
  expect(claudeAnswer(question, { behavior: 'deny', message: 'No.' })).toEqual({ error: 'No.' })
  expect(claudeAnswer(question, { behavior: 'allow' })).toEqual({
    response: { behavior: 'allow', updatedInput: {} },
  })
})

test.each([null, 'x', [], { subtype: 1, input: [], permission_suggestions: {} }])(
  'a question without sense has no input and no suggestions: %j',
  request => {
    expect(questionOf(request)).toMatchObject({ input: {}, suggestions: [] })
  },
)
