import { expect, test } from 'vitest'
import { toolArgument, toolDiff } from './tool-facts.ts'

test.each([
  [{ command: 'npm\n test' }, 'npm test'],
  [{ other: 1, text: 'said' }, 'said'],
  [{ a: 1 }, ''],
  [{ command: 'x'.repeat(500) }, `${'x'.repeat(119)}…`],
])('%j', (input, argument) => {
  expect(toolArgument(input)).toBe(argument)
})

test.each([
  ['nothing', {}, undefined, undefined],
  ['what was replaced', { old_string: 'a\nb', new_string: '' }, undefined, ['-a', '-b']],
  [
    'the patch that Claude Code tells',
    { old_string: 'a', new_string: 'b' },
    { structuredPatch: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 2, lines: [' x', '+y'] }] },
    ['@@ -1,1 +1,2 @@', ' x', '+y'],
  ],
  [
    'the diffs that Codex tells',
    {},
    { changes: [{ path: 'a', kind: 'update', diff: '@@ -1 +1 @@\n-a\n+b\n' }, { path: 'b' }, null] },
    ['--- a', '@@ -1 +1 @@', '-a', '+b'],
  ],
  ['rubbish', { old_string: 1 }, { structuredPatch: [null, 5, { lines: 'x' }], changes: 7 }, undefined],
])('a diff of %s', (_what, input, detail, lines) => {
  expect(toolDiff({ input, detail })).toEqual(lines)
})
