import { expect, test } from 'vitest'
import { argumentOf, lastLine, plainCommand, relative, toolName, toolSummary } from './tool-summary.logic.ts'

test.each([
  [{ command: 'npm test -- ndjson' }, 'npm test -- ndjson'],
  [{ command: "/bin/bash -lc 'echo a && cat b'" }, 'echo a && cat b'],
  [{ file_path: '/p/src/a.ts', content: 'x' }, 'src/a.ts'],
  [{ pattern: 'a\n  b', path: '/p' }, '/p'],
  [{ changes: [{ path: '/p/a.ts' }, { path: '/p/b.ts' }, 3] }, 'a.ts, b.ts'],
  [{ todos: [1, 2] }, '2 steps'],
  [{ anything: 'else' }, 'else'],
  [{ n: 1 }, ''],
])('%j is about %s', (input, expected) => expect(argumentOf(input, '/p')).toBe(expected))

test.each([
  ['mcp__git_hub__list', 'git_hub list'],
  ['file_change', 'Edit'],
  ['Read', 'Read'],
  ['bash', 'Bash'],
  ['__proto__', '__proto__'],
])('the tool %s is shown as %s', (name, shown) => expect(toolName(name)).toBe(shown))

test('only a path inside the project is shortened', () => {
  expect([relative('/p/a', '/p'), relative('/pa', '/p'), relative('/p/a', '')]).toEqual(['a', '/pa', '/p/a'])
})

test('a shell is taken off only as a whole', () => {
  expect(plainCommand('bash -c "ls" && rm x')).toBe('bash -c "ls" && rm x')
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
