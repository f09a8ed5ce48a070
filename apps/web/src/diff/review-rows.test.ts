import { expect, test } from 'vitest'
import { hunkRows, splitRows, withoutBlankChanges } from './diff-rows.ts'
import { diffTexts, parseUnifiedDiff } from './file-diff.ts'
import { linesOf, type ReviewRow, reviewRows } from './review-rows.ts'

const PLAIN = { split: false, ignoresBlanks: false }
const BEFORE = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`)
const AFTER = BEFORE.flatMap(line =>
  line === 'line 10' ? ['ten', 'and more'] : line === 'line 50' ? [] : [line],
)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`
const DIFF = diffTexts('a.txt', text(BEFORE), text(AFTER))

function shown(rows: readonly ReviewRow[]): unknown[] {
  return rows.map(row => {
    if (row.kind === 'hunk') return `@${row.index} ${row.hidden}${row.isBlank ? ' blank' : ''}`
    if (row.kind === 'tail') return `tail ${row.hidden}`
    if (row.kind === 'line') return `${row.row.mark}${row.row.oldLine}/${row.row.newLine} ${row.row.text}`
    return [row.row.left?.text ?? null, row.row.right?.text ?? null]
  })
}

test('a file in review begins each hunk with how many lines before it are not shown', () => {
  const heads = reviewRows(DIFF, PLAIN, null).filter(({ kind }) => kind !== 'line')
  expect(shown(heads)).toEqual(['@0 6', '@1 33', 'tail null'])
})

test('wider context has the lines of the file with the numbers of both sides', () => {
  const wanted = new Map([
    [1, 2],
    [2, 20],
  ])
  const rows = reviewRows(DIFF, PLAIN, { lines: linesOf(text(AFTER)), wanted })
  const all = shown(rows)
  expect(all.slice(all.indexOf('@1 31'), all.indexOf('@1 31') + 4)).toEqual([
    '@1 31',
    ' 45/46 line 45',
    ' 46/47 line 46',
    ' 47/48 line 47',
  ])
  // To the end of the file, and no further.
  expect(all.at(-1)).toBe(' 60/60 line 60')
  expect(all.filter(row => row === ' 54/54 line 54')).toHaveLength(1)
})

test('side by side, lines that went stand beside lines that came', () => {
  const [hunk] = diffTexts('a', 'one\ntwo\nthree\n', 'one\n2\nand\nthree\n').hunks
  const rows = hunk ? splitRows(hunkRows(hunk)) : []
  expect(rows.map(({ left, right }) => [left?.text ?? null, right?.text ?? null])).toEqual([
    ['one', 'one'],
    ['two', '2'],
    [null, 'and'],
    ['three', 'three'],
  ])
})

test('a change of white space alone is shown as no change; beside others it is not counted', () => {
  const [hunk] = diffTexts('a', 'if (a)\nb\nc\nend\n', 'if  (a)\n\tb\nC\nend\n').hunks
  const rows = hunk ? withoutBlankChanges(hunkRows(hunk)) : []
  expect(rows.map(({ mark, oldLine, newLine, text: words }) => [mark, oldLine, newLine, words])).toEqual([
    [' ', 1, 1, 'if  (a)'],
    [' ', 2, 2, '\tb'],
    ['-', 3, null, 'c'],
    ['+', null, 3, 'C'],
    [' ', 4, 4, 'end'],
  ])
  const blank = diffTexts('a', 'a\n b\nc\n', 'a\nb\nc\n')
  expect(shown(reviewRows(blank, { split: false, ignoresBlanks: true }, null))).toEqual([
    '@0 0 blank',
    'tail null',
  ])
})

test('fifty thousand lines are laid out without comparing each with each', () => {
  const lines = Array.from({ length: 50_000 }, (_, i) => `+const n${i} = ${i}`)
  const patch = `--- /dev/null\n+++ b/big.ts\n@@ -0,0 +1,50000 @@\n${lines.join('\n')}\n`
  const [diff] = parseUnifiedDiff(patch)
  const rows = diff ? reviewRows(diff, { split: true, ignoresBlanks: true }, null) : []
  expect(rows).toHaveLength(50_001)
})
