import { expect, test } from 'vitest'
import { linePieces, matchesIn, outputLines } from './output-lines.ts'

test('what was printed line by line: a colour goes on in the next line, a line that overwrites itself is its last state', () => {
  const lines = outputLines('a \u001b[31mred\nstill\u001b[0m plain\n10 %\r100 %\n\nend\n')
  expect(lines.map(({ text }) => text)).toEqual(['a red', 'still plain', '100 %', '', 'end'])
  expect(lines[1]?.runs).toEqual([
    ['still', 'ansi-fg-red'],
    [' plain', ''],
  ])
})

test('a match across colours is cut with them, and every piece of it is marked', () => {
  const [line] = outputLines('x \u001b[32mhay\u001b[0mstack hay')
  const matches = matchesIn(line ? [line] : [], /haystack/gi)
  expect(matches).toEqual([{ line: 0, from: 2, to: 10 }])
  const pieces = line ? linePieces(line, matches) : []
  expect(pieces.map(({ text, match }) => [text, match !== null])).toEqual([
    ['x ', false],
    ['hay', true],
    ['stack', true],
    [' hay', false],
  ])
})
