import type { PermissionRequestEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import {
  alwaysRule,
  collectAnswers,
  decisionLine,
  decisionTitle,
  parseInput,
  readQuestions,
} from './decision.logic.ts'

const request = (fields: Partial<PermissionRequestEvent>): PermissionRequestEvent => ({
  type: 'permission:request',
  sessionId: 's',
  requestId: 'r',
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'npm test' },
  raw: null,
  ...fields,
})

describe('alwaysRule', () => {
  test('Claude: the narrowest rule that the agent suggests', () => {
    const suggestions = [
      { type: 'setMode', mode: 'acceptEdits' },
      { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'npm test *' }], behavior: 'allow' },
    ]
    expect(alwaysRule(request({ suggestions }))).toBe('Bash(npm test *)')
  })

  test('Claude: where it would let all edits pass, that is what is said', () => {
    const suggestions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }]
    expect(alwaysRule(request({ suggestions }))).toBe('mode "Edit freely" for this session')
  })

  test('Codex: the words of the command', () => {
    const suggestions = [
      'accept',
      { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['npm', 'test'] } },
    ]
    expect(alwaysRule(request({ toolName: 'command', suggestions }))).toBe('command(npm test)')
  })

  test('without a suggestion: this very call', () => {
    expect(alwaysRule(request({}))).toBe('Bash(npm test)')
    expect(alwaysRule(request({ toolName: 'Write', input: { path: 'a' } }))).toBe('Write({"path":"a"})')
  })

  test.each(['question', 'plan', 'unknown'] as const)('a %s is never remembered', kind => {
    expect(alwaysRule(request({ kind }))).toBeUndefined()
  })

  test.each([[[null]], [[1, 'x', {}]], [[{ type: 'addRules' }]], [[{ type: 'addRules', rules: [{}] }]]])(
    'suggestions of the wrong shape fall back: %j',
    suggestions => expect(alwaysRule(request({ suggestions }))).toBe('Bash(npm test)'),
  )
})

describe('questions', () => {
  const input = {
    questions: [
      {
        question: 'Which colour?',
        header: 'Colour',
        options: [{ label: 'Red', description: 'Rose' }, 'Blue'],
      },
      { question: 'What else?', multiSelect: true, options: [] },
      { nothing: true },
    ],
  }
  test('are read as far as they can be', () => {
    expect(readQuestions(input)).toEqual([
      {
        name: 'Which colour?',
        header: 'Colour',
        multiSelect: false,
        options: [
          { label: 'Red', description: 'Rose' },
          { label: 'Blue', description: null },
        ],
      },
      { name: 'What else?', header: null, multiSelect: true, options: [] },
    ])
    expect(readQuestions({ questions: 7 })).toEqual([])
  })

  test('are answered when each has an answer', () => {
    const questions = readQuestions(input)
    expect(collectAnswers(questions, { 'Which colour?': { chosen: ['Red'], other: '' } })).toBeUndefined()
    expect(
      collectAnswers(questions, {
        'Which colour?': { chosen: ['Red', 'Blue'], other: ' green ' },
        'What else?': { chosen: [], other: 'nothing' },
      }),
    ).toEqual({ 'Which colour?': 'Red, Blue, green', 'What else?': 'nothing' })
  })
})

test('an edited input is an object or a problem', () => {
  expect(parseInput('{"a":1}')).toEqual({ input: { a: 1 } })
  expect(parseInput('[1]')).toEqual({ problem: 'It must be a JSON object.' })
  expect(parseInput('{')).toHaveProperty('problem')
})

test('what is asked, in words', () => {
  expect(decisionTitle(request({}), 'Bash')).toBe('Run this command?')
  expect(decisionTitle(request({ kind: 'plan' }), 'Plan')).toBe('Is this plan right?')
  expect(decisionLine(request({}), 'npm test')).toBe('wants to run npm test')
  expect(decisionLine(request({ kind: 'unknown', toolName: 'future/ask' }), '')).toBe('asks future/ask')
})
