import { factsOf, type PermissionRequestEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { collectAnswers, decisionLine, decisionTitle, parseInput } from './decision.logic.ts'

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
    expect(factsOf(request({ input })).questions).toEqual([
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
    expect(factsOf(request({ input: { questions: 7 } })).questions).toBeUndefined()
  })

  test('are answered when each has an answer', () => {
    const { questions = [] } = factsOf(request({ input }))
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
  expect(parseInput('[1]')).toEqual({ problem: 'The input must be a JSON object.' })
  expect(parseInput('{')).toHaveProperty('problem')
})

test('what is asked, in words', () => {
  expect(decisionTitle(request({}))).toBe('Run this command?')
  expect(decisionTitle(request({ kind: 'plan' }))).toBe('Is this plan right?')
  const asked = (toolName: string, input: Record<string, unknown>) =>
    decisionTitle(request({ toolName, input }))
  expect(asked('Edit', { file_path: 'a', old_string: 'x', new_string: 'y' })).toBe('Change this file?')
  expect(asked('file_change', { changes: [{ path: 'a' }, { path: 'b' }] })).toBe('Change these files?')
  expect(asked('WebFetch', { url: 'https://a.example' })).toBe('Open this address?')
  expect(asked('WebSearch', { query: 'a' })).toBe('Use WebSearch?')
  expect(asked('mcp__shop__refund', { command: 'odd' })).toBe('Use shop refund?')
  expect(decisionLine(request({}), 'npm test')).toBe('wants to run npm test')
  expect(decisionLine(request({ kind: 'unknown', toolName: 'future/ask' }), '')).toBe('asks future/ask')
})
