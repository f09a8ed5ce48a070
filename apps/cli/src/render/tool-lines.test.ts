import { expect, test } from 'vitest'
import { resultSummary, toolSummary } from './tool-lines.ts'

test.each([
  [{ description: 'List', command: 'ls -l' }, 'ls -l'],
  [{ content: 'long', file_path: '/a/b' }, '/a/b'],
  [{ other: 'first text' }, 'first text'],
  [{ command: '  ', other: 'x' }, 'x'],
  [{ count: 3, flag: true }, ''],
  [{}, ''],
  [{ command: 'a\n  b\t c' }, 'a b c'],
  [{ command: '😀'.repeat(101) }, `${'😀'.repeat(99)}…`],
])('toolSummary(%j)', (input, summary) => {
  expect(toolSummary(input)).toBe(summary)
})

test.each([
  ['', 'no output'],
  ['\n \n', 'no output'],
  ['one', 'one'],
  ['one\n', 'one'],
  ['\none\ntwo\nthree\n', 'one (3 lines)'],
  ['x'.repeat(200), `${'x'.repeat(99)}…`],
])('resultSummary(%j)', (content, summary) => {
  expect(resultSummary(content)).toBe(summary)
})
