import { expect, test } from 'vitest'
import { parseQuery } from './search-sessions.ts'

test.each([
  ['word', ['word']],
  ['  two   words ', ['two', 'words']],
  ['"a phrase" word', ['a phrase', 'word']],
  ['"not closed yet', ['not closed yet']],
  ['a"b c"d', ['a', 'b c', 'd']],
  ['same same', ['same']],
  ['.*(', ['.*(']],
  ['\ud800', ['\ud800']],
])('%j', (query, terms) => {
  expect(parseQuery(query)).toEqual(terms)
})

test.each(['', ' \n', '""', '"  "', '"'])('the query %j is refused as empty', query => {
  expect(() => parseQuery(query)).toThrow('The query is empty. Give a word, or a phrase in quotes.')
})

test('a query of a megabyte is refused', () => {
  expect(() => parseQuery('x'.repeat(1_000_000))).toThrow('longer than 1000 characters')
})
