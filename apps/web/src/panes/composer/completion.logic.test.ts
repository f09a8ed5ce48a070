import { expect, test } from 'vitest'
import {
  applyCompletion,
  completionAt,
  hasLetters,
  mentions,
  rank,
  splitMention,
} from './completion.logic.ts'

test.each([
  ['/comp', 5, { kind: 'command', typed: 'comp', start: 0, end: 5 }],
  ['look at @src/a', 14, { kind: 'file', typed: 'src/a', start: 8, end: 14 }],
  ['@', 1, { kind: 'file', typed: '', start: 0, end: 1 }],
  ['a\n@b', 4, { kind: 'file', typed: 'b', start: 2, end: 4 }],
  ['run /comp', 9, undefined],
  ['mail a@b.c', 10, undefined],
  ['/compact now', 12, undefined],
  ['', 0, undefined],
])('%j with the cursor at %i', (text, cursor, expected) =>
  expect(completionAt(text, cursor)).toEqual(expected),
)

test('a file is followed by a blank, a folder is gone on into', () => {
  const text = 'look at @sr please'
  const completion = completionAt(text, 11)
  if (!completion) throw new Error('none')
  expect(applyCompletion(text, completion, 'src/')).toEqual({ text: 'look at @src/please', cursor: 13 })
  expect(applyCompletion(text, completion, 'src.ts')).toEqual({ text: 'look at @src.ts please', cursor: 16 })
})

test('folder and beginning of a name', () => {
  expect([splitMention('a'), splitMention('src/a'), splitMention('src/x/')]).toEqual([
    { folder: '', prefix: 'a' },
    { folder: 'src', prefix: 'a' },
    { folder: 'src/x', prefix: '' },
  ])
})

test('what begins so comes first', () => {
  expect(rank(['recompact', 'other', 'Compact'], 'comp')).toEqual(['Compact', 'recompact'])
})

test('a mention: what is near first, then what is found anywhere, each once', () => {
  const here = ['src/', 'README.md']
  expect(mentions(here, ['lib/src.ts', 'README.md'], 'r')).toEqual(['README.md', 'lib/src.ts'])
  expect(mentions(['src/a.ts', 'src/b.ts'], ['lib/src/x.ts'], 'src/')).toEqual(['src/a.ts', 'src/b.ts'])
  expect(mentions(here, [], '')).toEqual(here)
})

test.each([
  ['src/ndjson.ts', 'nd', true],
  ['src/NDJSON.ts', 'sjts', true],
  ['src/ndjson.ts', 'ndx', false],
  ['a', 'aa', false],
  ['a', '', true],
])('%s has the letters %s: %s', (path, letters, is) => expect(hasLetters(path, letters)).toBe(is))
