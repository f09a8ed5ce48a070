import { expect, test } from 'vitest'
import { toolArgument, toolDiff } from './tool-facts.ts'

test.each([
  [{ command: 'npm\n test' }, 'npm test'],
  [{ other: 1, text: 'said' }, 'said'],
  [{ a: 1 }, ''],
  [{ command: 'x'.repeat(500) }, `${'x'.repeat(119)}…`],
])('%j', (input, argument) => {
  expect(toolArgument({ name: 'Bash', input })).toBe(argument)
})

test.each([
  ['nothing', 'Read', {}, undefined, undefined],
  [
    'what was replaced',
    'Edit',
    { file_path: 'a', old_string: 'a\nb', new_string: '' },
    undefined,
    ['-a', '-b'],
  ],
  ['a new file', 'Write', { file_path: 'a', content: 'a\nb\n' }, undefined, ['+a', '+b']],
  [
    'the patch that Claude Code tells',
    'Edit',
    { file_path: 'a', old_string: 'a', new_string: 'b' },
    { structuredPatch: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 2, lines: [' x', '+y'] }] },
    ['@@ -1,1 +1,2 @@', ' x', '+y'],
  ],
  [
    'the diffs that Codex tells',
    'file_change',
    {},
    {
      changes: [
        { path: 'a', kind: 'update', diff: '@@ -1 +1 @@\n-a\n+b\n' },
        { path: 'b', kind: 'add', diff: 'new\n' },
        { path: 'c' },
        null,
      ],
    },
    ['--- a', '@@ -1,1 +1,1 @@', '-a', '+b', '--- b', '+new'],
  ],
  [
    'rubbish',
    'Edit',
    { old_string: 1 },
    { structuredPatch: [null, 5, { lines: 'x' }], changes: 7 },
    undefined,
  ],
])('a diff of %s', (_what, name, input, detail, lines) => {
  expect(toolDiff({ name, input, detail })).toEqual(lines)
})
