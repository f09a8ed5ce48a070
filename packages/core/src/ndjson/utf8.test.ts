import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pickUtf8 } from './utf8.ts'

const node = pickUtf8(Buffer)
const web = pickUtf8(undefined)
const decode = (utf8: typeof node, bytes: Uint8Array) => utf8.decode(utf8.view(bytes), 0, bytes.length)

test('Node and the web decode any bytes alike', () => {
  // Bytes near the limits of UTF-8: continuation bytes, overlong forms, encoded surrogates, a BOM.
  const tricky = fc.constantFrom(
    0x00,
    0x61,
    0x80,
    0xbf,
    0xc0,
    0xc3,
    0xe0,
    0xed,
    0xa0,
    0xef,
    0xbb,
    0xf0,
    0xf4,
    0xff,
  )
  const bytes = fc.array(fc.oneof(tricky, fc.integer({ min: 0, max: 255 })), { maxLength: 40 })
  fc.assert(
    fc.property(bytes, values => {
      const input = Uint8Array.from(values)
      expect(decode(node, input)).toBe(decode(web, input))
    }),
    { numRuns: 2000 },
  )
})

test('a view shares memory and keeps its window', () => {
  const memory = new TextEncoder().encode('-abc-')
  for (const utf8 of [node, web]) {
    const view = utf8.view(memory.subarray(1, 4))
    expect(utf8.decode(view, 0, 3)).toBe('abc')
    expect(utf8.decode(view, 1, 2)).toBe('b')
    expect(view.buffer).toBe(memory.buffer)
  }
})
