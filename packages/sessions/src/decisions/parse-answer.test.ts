import type { PermissionDecision, PermissionRequestEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { permissionRequest as request } from '../../test/decisions/permission-request.ts'
import { parseAnswer } from './parse-answer.ts'

test.each<[string, unknown, Partial<PermissionRequestEvent>?]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'allow'],
  ['true', true],
  ['a list', ['allow']],
  ['no behavior', {}],
  ['another behavior', { behavior: 'Allow' }],
  ['a behavior that is inherited', Object.create({ behavior: 'allow' })],
  [
    'a behavior of a class',
    new (class Answer {
      behavior = 'allow'
    })(),
  ],
  ['a key __proto__', JSON.parse('{"behavior":"allow","__proto__":{}}')],
  ['a misspelt key', { behavior: 'allow', updatedinput: { command: 'ls -l' } }],
  ['a message with a yes', { behavior: 'allow', message: 'only once' }],
  ['remember with a no', { behavior: 'deny', remember: 'session' }],
  ['remember of an unknown kind', { behavior: 'allow', remember: 'forever' }],
  ['an edited input that is a list', { behavior: 'allow', updatedInput: [] }],
  ['an edited input that is a text', { behavior: 'allow', updatedInput: 'ls' }],
  ['an edited input that is null', { behavior: 'allow', updatedInput: null }],
  ['an edited input with __proto__', JSON.parse('{"behavior":"allow","updatedInput":{"a":{"__proto__":1}}}')],
  ['an edited input with a function', { behavior: 'allow', updatedInput: { toJSON: () => ({}) } }],
  ['an edited input with a Map', { behavior: 'allow', updatedInput: { a: new Map() } }],
  ['an edited input with NaN', { behavior: 'allow', updatedInput: { a: Number.NaN } }],
  ['an edited input without end', { behavior: 'allow', updatedInput: circular() }],
  ['an edited input of 5 MB', { behavior: 'allow', updatedInput: { a: 'x'.repeat(5_000_000) } }],
  ['an edited input that throws', { behavior: 'allow', updatedInput: throwing() }],
  ['a message that is no text', { behavior: 'deny', message: {} }],
  ['a message of 1 MB', { behavior: 'deny', message: 'x'.repeat(1_000_000) }],
  ['interrupt that is no boolean', { behavior: 'deny', interrupt: 'yes' }],
  ['a plan sent back without a word', { behavior: 'deny' }, { kind: 'plan' }],
  ['a yes to a question', { behavior: 'allow' }, question()],
  ['a question with no answers', { behavior: 'allow', updatedInput: { answers: {} } }, question()],
  ['answers that are a list', { behavior: 'allow', updatedInput: { answers: ['Blue'] } }, question()],
  ['an answer to another question', answered({ 'Which size?': 'L' }), question()],
  ['an empty answer', answered({ 'Which colour?': ' ' }), question()],
  ['an answer that is a number', answered({ 'Which colour?': 3 }), question()],
  ['no choice of a list', answered({ 'Which colour?': [] }), question()],
  ['a remembered answer', { ...answered({ 'Which colour?': 'Blue' }), remember: 'always' }, question()],
  ['a form not filled in', { behavior: 'allow' }, { kind: 'question', input: { schema: {} } }],
])('%s is no answer', (_what, answer, changes) => {
  expect(() => parseAnswer(request(changes), answer)).toThrow(
    expect.objectContaining({ code: 'decision-invalid' }),
  )
  expect(() => parseAnswer(request(changes), answer)).toThrow('The request stays open.')
})

test.each<[PermissionDecision, Partial<PermissionRequestEvent>, object]>([
  [{ behavior: 'allow' }, {}, { behavior: 'allow' }],
  [{ behavior: 'allow', remember: 'session' }, {}, { behavior: 'allow', remember: 'session' }],
  [
    { behavior: 'deny', message: 'use rg', interrupt: true },
    {},
    { behavior: 'deny', message: 'use rg', interrupt: true },
  ],
  [{ behavior: 'allow' }, { kind: 'plan' }, { behavior: 'allow' }],
  [{ behavior: 'deny', message: 'shorter' }, { kind: 'plan' }, { behavior: 'deny', message: 'shorter' }],
  [{ behavior: 'deny', interrupt: true }, { kind: 'plan' }, { behavior: 'deny', interrupt: true }],
  [{ behavior: 'allow' }, { kind: 'unknown' }, { behavior: 'allow' }],
  [answered({ c1: ['Blue', 'Red'] }), question(), answered({ c1: ['Blue', 'Red'] }, question().input)],
  [
    answered({ 'Which colour?': 'Blue' }),
    question(),
    answered({ 'Which colour?': 'Blue' }, question().input),
  ],
  [{ behavior: 'deny' }, question(), { behavior: 'deny' }],
  [
    { behavior: 'allow', updatedInput: { size: 1 } },
    { kind: 'question', input: { schema: {} } },
    { behavior: 'allow', updatedInput: { size: 1 } },
  ],
])('%j', (answer, changes, expected) => {
  // An answer cannot state who gave it.
  expect(parseAnswer(request(changes), { ...answer, by: 'policy', rule: 'mine' })).toEqual(expected)
})

test('the answer is a copy: what its sender changes later does not count', () => {
  const updatedInput = { command: 'ls' }
  const parsed = parseAnswer(request(), { behavior: 'allow', updatedInput })
  updatedInput.command = 'rm -rf /'
  expect(parsed).toEqual({ behavior: 'allow', updatedInput: { command: 'ls' } })
})

function question(): Partial<PermissionRequestEvent> & { input: Record<string, unknown> } {
  return {
    kind: 'question',
    toolName: 'AskUserQuestion',
    input: { questions: [{ id: 'c1', question: 'Which colour?', options: [] }, null] },
  }
}

function answered(answers: Record<string, unknown>, input: Record<string, unknown> = {}): PermissionDecision {
  return { behavior: 'allow', updatedInput: { ...input, answers } }
}

function circular(): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

function throwing(): object {
  return Object.defineProperty({}, 'command', {
    enumerable: true,
    get: () => {
      throw new Error('boom')
    },
  })
}
