import { factsOf } from '@chirality/core'
import { expect, test } from 'vitest'
import { argumentOf, lastLine, relative, toolSummary } from './tool-summary.logic.ts'

test.each([
  ['Bash', { command: 'npm test -- ndjson' }, 'npm test -- ndjson'],
  ['Write', { file_path: '/p/src/a.ts', content: 'x' }, 'src/a.ts'],
  ['Read', { file_path: '/p/src/a.ts' }, 'src/a.ts'],
  ['file_change', { changes: [{ path: '/p/a.ts' }, { path: '/p/b.ts' }, 3] }, 'a.ts, b.ts'],
  ['other', { n: 1 }, ''],
])('%s %j is about %s', (name, input, expected) =>
  expect(argumentOf(factsOf({ name, input }), '/p')).toBe(expected),
)

test('only a path inside the project is shortened', () => {
  expect([relative('/p/a', '/p'), relative('/pa', '/p'), relative('/p/a', '')]).toEqual(['a', '/pa', '/p/a'])
})

test('a note says how many lines a search found, or that it failed', () => {
  const base = { name: 'Grep', input: {}, content: 'a\nb\n' }
  expect(toolSummary({ ...base, status: 'done' }, '').note).toBe('2 lines')
  expect(toolSummary({ ...base, status: 'failed' }, '').note).toBe('failed')
  expect(toolSummary({ ...base, status: 'running', content: null }, '').note).toBe('')
})

test('the last line that a command printed, as plain text', () => {
  expect(lastLine('\u001b[36mdocs\u001b[39m watching\n\u001b[32m✓\u001b[39m built\n\n')).toBe('✓ built')
  expect(lastLine('10 %\r50 %\r')).toBe('50 %')
  expect(lastLine('')).toBe('')
})

test('a question that was answered keeps its words and the answer on its line', () => {
  const questions = [
    { question: 'Which colour?', options: [] },
    { question: 'How many?', options: [] },
  ]
  const asked = { name: 'AskUserQuestion', input: { questions }, content: null, status: 'running' } as const
  expect(toolSummary(asked, '')).toEqual({
    name: 'Question',
    argument: 'Which colour? · How many?',
    note: '',
  })
  const detail = { answers: { 'Which colour?': 'Blue', 'How many?': '3' } }
  expect(toolSummary({ ...asked, status: 'done', content: 'x', detail }, '').note).toBe('Blue · 3')
  const content = 'Which colour?\nBlue\n\nHow many?\n3'
  expect(toolSummary({ ...asked, status: 'done', content }, '').note).toBe('Blue · 3')
  const long = { answers: { 'Which colour?': 'b'.repeat(200) } }
  expect(toolSummary({ ...asked, status: 'done', content: '', detail: long }, '').note).toHaveLength(60)
  expect(toolSummary({ ...asked, status: 'failed', content: 'Denied' }, '').note).toBe('failed')
})
