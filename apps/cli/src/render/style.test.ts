import { expect, test } from 'vitest'
import { plain, style, wantsColour } from './style.ts'

test('colours are escapes in a terminal and nothing in a pipe', () => {
  expect(style(true).red('x')).toBe('\u001b[31mx\u001b[39m')
  expect(style(false).red('x')).toBe('x')
})

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
])('wantsColour(%s, %j) is %s', (isTerminal, env, wanted) => {
  expect(wantsColour(isTerminal, () => env)).toBe(wanted)
})

test.each([
  ['plain text, tabs\tand lines\n', 'plain text, tabs\tand lines\n'],
  ['ä€😀 👩‍👩‍👧 עברית', 'ä€😀 👩‍👩‍👧 עברית'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b[2J\u001b[H', ''],
  ['\u001b]0;title\u0007x', 'x'],
  ['\u001b]8;;https://example.org\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['bell\u0007 back\b return\r null\0', 'bell back return null'],
  ['\u009b31mC1', 'C1'],
  ['evil\u202etxt.exe\u2066\u2069', 'eviltxt.exe'],
])('plain(%j)', (text, harmless) => {
  expect(plain(text)).toBe(harmless)
})

test('a sequence that is cut in two keeps no escape', () => {
  expect(['\u001b', '[31mred', 'x\u001b[', '2J'].map(plain).join('')).toBe('[31mredx[2J')
})
