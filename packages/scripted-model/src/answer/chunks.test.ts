import { expect, test } from 'vitest'
import { chunksOf, wholeText } from './chunks.ts'

test('the default chunk is small, and grows so that a long text has a bounded number of chunks', () => {
  expect([...chunksOf('x'.repeat(80), undefined)].map(chunk => chunk.length)).toEqual([32, 32, 16])
  expect([...chunksOf('x'.repeat(1_000_000), undefined)]).toHaveLength(256)
})

test('chunks join to the text, and none is a half character', () => {
  const text = 'a😀b😀😀c'
  for (let size = 1; size <= text.length; size++) {
    const chunks = [...chunksOf(text, size)]
    expect(chunks.join('')).toBe(text)
    for (const chunk of chunks) expect(Buffer.from(chunk).toString()).toBe(chunk)
  }
})

test('an empty text has no chunk', () => {
  expect([...chunksOf('', undefined)]).toEqual([])
  expect([...chunksOf('', 'all')]).toEqual([])
})

test.each([
  ['ab', 5, 'ababa'],
  ['é', 5, 'éé'],
  ['a😀', 9, 'a😀a'],
  ['abc', 0, ''],
])('%s repeated to %i bytes', (repeat, bytes, text) => {
  expect(wholeText({ repeat, bytes })).toBe(text)
})
