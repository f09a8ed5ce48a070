import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeadTail } from './shell.ts'

test('keeps the first and the last bytes, however they come', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 30 })), pieces => {
      const kept = new HeadTail(10, 10)
      for (const piece of pieces) kept.push(Buffer.from(piece))
      const text = pieces.join('')
      const expected =
        text.length <= 20
          ? text
          : `${text.slice(0, 10)}\n[${text.length - 20} bytes left out]\n${text.slice(-10)}`
      expect(kept.text()).toBe(expected)
      expect(kept.isCut).toBe(text.length > 20)
    }),
  )
})
