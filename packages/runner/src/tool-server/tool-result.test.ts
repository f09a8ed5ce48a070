import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { failure, toToolResult } from './tool-result.ts'

const ROOMY = 1024
const texts = (value: unknown, maxBytes = ROOMY) =>
  toToolResult(value, 'echo', maxBytes).content.map(block => (block.type === 'text' ? block.text : block))

test('the content becomes the text of the result', () => {
  expect(toToolResult({ content: 'hello' }, 'echo', ROOMY)).toEqual({
    content: [{ type: 'text', text: 'hello' }],
  })
})

test('an error makes it a failure, and keeps the content that came with it', () => {
  expect(toToolResult({ error: 'no disk', content: 'half of it' }, 'echo', ROOMY)).toEqual({
    content: [
      { type: 'text', text: 'no disk' },
      { type: 'text', text: 'half of it' },
    ],
    isError: true,
  })
})

test.each([[undefined], [null], [{}], [{ content: undefined }], [{ content: null, error: null }]])(
  '%j says that there is nothing',
  value => {
    expect(toToolResult(value, 'echo', ROOMY)).toEqual({
      content: [{ type: 'text', text: 'echo returned nothing.' }],
    })
  },
)

test.each([
  ['a number', { content: 7 }, 'echo returned something of type number where text was expected.'],
  ['an object', { content: { a: 1 } }, 'echo returned something of type object where text was expected.'],
  ['a symbol', { error: Symbol('x') }, 'echo returned something of type symbol where text was expected.'],
  ['a bare string', 'hello', 'echo returned something of type string instead of { content } or { error }.'],
])('%s breaks the contract, which is said', (_what, value, message) => {
  expect(toToolResult(value, 'echo', ROOMY)).toEqual(failure(message, ROOMY))
})

test('a circular value does not loop forever', () => {
  const cycle: Record<string, unknown> = {}
  cycle.content = cycle
  expect(toToolResult(cycle, 'echo', ROOMY).isError).toBe(true)
})

describe('too long a text', () => {
  test('is cut with a note that says how much is missing', () => {
    expect(texts({ content: 'x'.repeat(2000) }, 10)).toEqual([
      'xxxxxxxxxx\n[The rest was cut: only the first 10 of 2000 characters fit.]',
    ])
  })

  test('is counted in bytes, and never cut through a character', () => {
    expect(texts({ content: '😀😀😀' }, 12)).toEqual(['😀😀😀'])
    expect(texts({ content: '😀😀😀' }, 11)[0]).toMatch(/^😀😀\n\[.* first 4 of 6 /)
    expect(texts({ content: 'ééé' }, 5)[0]).toMatch(/^éé\n\[/)
  })

  test('is cut in an error too', () => {
    expect(failure('y'.repeat(50), 3).content).toMatchObject([{ text: expect.stringMatching(/^yyy\n\[/) }])
  })

  test('any text in any cap stays within it, well-formed and a prefix', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'é', '€', '😀')),
        fc.integer({ min: 1, max: 40 }),
        (parts, maxBytes) => {
          const content = parts.join('')
          const [text] = texts({ content }, maxBytes) as string[]
          const [kept = ''] = (text ?? '').split('\n[The rest was cut')
          expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(maxBytes)
          expect(content.startsWith(kept)).toBe(true)
        },
      ),
    )
  })
})

test('a lone surrogate, which is no valid JSON for a strict reader, is replaced', () => {
  expect(texts({ content: 'a\ud800b' })).toEqual(['a\ufffdb'])
})
