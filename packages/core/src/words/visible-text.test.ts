import { expect, test } from 'vitest'
import { visibleLine, visibleText } from './visible-text.ts'

test.each([
  ['{\n\t"a": "ü 漢 😀"\n}', '{\n\t"a": "ü 漢 😀"\n}'],
  ['run\u202e"hs.live"', 'run\\u{202e}"hs.live"'],
  ['a\u200bb\ufeff', 'a\\u{200b}b\\u{feff}'],
  ['a\r\u001b[8mb', 'a\\u{d}\\u{1b}[8mb'],
  ['\u{e0041}', '\\u{e0041}'],
])('%j is shown as %j', (text, shown) => {
  expect(visibleText(text)).toBe(shown)
})

test('a command of several lines is one line', () => {
  expect(visibleLine('true\n\tls \u001b[1A')).toBe('true\\u{a}\\u{9}ls \\u{1b}[1A')
})
