import { expect, test } from 'vitest'
import { style } from './style.ts'
import { resultSummary, ToolLines } from './tool-lines.ts'

test.each([
  [{ description: 'List', command: 'ls -l' }, ' ls -l'],
  [{ content: 'long', file_path: '/a/b' }, ' /a/b'],
  [{ other: 'first text' }, ' first text'],
  [{ command: '  ', other: 'x' }, ' x'],
  [{ count: 3, flag: true }, ''],
  [{ command: 'a\n  b\t c' }, ' a b c'],
  [{ command: '😀'.repeat(101) }, ` ${'😀'.repeat(99)}…`],
])('the line of a call with %j, from a log that has no facts', (input, about) => {
  const event = { type: 'tool:start', sessionId: 's', toolUseId: 't', name: 'Bash', input } as const
  expect(new ToolLines(style(false)).start(event)).toBe(`▸ Bash${about}`)
})

test('the facts of an event say what its call is about', () => {
  const lines = new ToolLines(style(false))
  const call = { sessionId: 's', toolUseId: 't' }
  expect(lines.start({ ...call, type: 'tool:start', name: 'patch', input: {} })).toBe('')
  const facts = { kind: 'edit', label: 'Patch', object: 'a.ts' } as const
  expect(lines.complete({ ...call, type: 'tool:input', input: { x: 'y' }, facts })).toBe('▸ patch a.ts')
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
