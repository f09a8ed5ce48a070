import { expect, test } from 'vitest'
import { snippetParts } from './snippet.logic.ts'

const plain = (excerpt: string, query = '') =>
  snippetParts(excerpt, query)
    .map(({ text, found }) => (found ? `<${text}>` : text))
    .join('')

test.each([
  ['There are **no callers** of `total`.', 'There are no callers of total.'],
  ['## Title and text', 'Title and text'],
  ['- one', 'one'],
  ['| file | lines | |---|---:| | a.ts | 12 |', 'file lines a.ts 12'],
  ['see [the docs](https://example.org/a) ```ts const a = 1 ```', 'see the docs const a = 1'],
  ['…cut **in the middle', '…cut in the middle'],
  ['a - b, 2 * 3 and snake_case', 'a - b, 2 * 3 and snake_case'],
])('%j is read as %j', (excerpt, text) => expect(plain(excerpt)).toBe(text))

test('what was looked for is marked, whatever its case, phrases as one', () => {
  expect(plain('The **Total** of all', 'total "of all"')).toBe('The <Total> <of all>')
  expect(plain('reduce((sum', 'reduce((sum')).toBe('<reduce((sum>')
})
