import { describe, expect, test } from 'vitest'
import { GROUP_SIZE, type MarkdownBlocks, NO_BLOCKS, parseBlocks } from './blocks.logic.ts'

const SAMPLE = `# Title

A paragraph with **bold** and \`code\`,
over two lines.

- one
- two

  still two

1. first
2. second

> quoted
> again

\`\`\`ts
const a = 1

const b = 2
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

Setext
------

---

last line`

const tokensOf = (blocks: MarkdownBlocks) =>
  [...blocks.groups.flat(), ...blocks.tail].map(({ token }) => [token.type, token.raw])

describe('parseBlocks', () => {
  test.each([1, 2, 3, 7, 24])('pieces of %i characters end in the same blocks as the whole', size => {
    let blocks = NO_BLOCKS
    for (let end = size; end < SAMPLE.length + size; end += size)
      blocks = parseBlocks(SAMPLE.slice(0, end), blocks)
    expect(tokensOf(blocks)).toEqual(tokensOf(parseBlocks(SAMPLE)))
    expect(
      tokensOf(blocks)
        .map(([, raw]) => raw)
        .join(''),
    ).toBe(SAMPLE)
  })

  test('keys are unique and stay with their block', () => {
    const before = parseBlocks('a\n\nb\n\nc')
    const after = parseBlocks('a\n\nb\n\nc\n\nd', before)
    const keys = [...after.groups.flat(), ...after.tail].map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    expect(after.groups[0]?.slice(0, before.groups[0]?.length)).toEqual(before.groups[0])
  })

  test('a full group is the same object after more text', () => {
    const many = Array.from({ length: GROUP_SIZE * 2 }, (_, i) => `p${i}`).join('\n\n')
    const before = parseBlocks(many)
    const after = parseBlocks(`${many}\n\nmore\n\nand more`, before)
    expect(before.groups.length).toBeGreaterThan(1)
    expect(after.groups[0]).toBe(before.groups[0])
  })

  test('text that is replaced is lexed anew', () => {
    const before = parseBlocks('one\n\ntwo\n\nthree')
    expect(tokensOf(parseBlocks('other', before))).toEqual(tokensOf(parseBlocks('other')))
  })

  test('CRLF is one line end', () => {
    expect(tokensOf(parseBlocks('a\r\n\r\nb'))).toEqual(tokensOf(parseBlocks('a\n\nb')))
  })

  test('the work for one more piece does not grow with what is finished', () => {
    const long = parseBlocks(`${'paragraph\n\n'.repeat(5000)}tail`)
    expect(long.source.length - long.tailStart).toBeLessThan(20)
  })
})
