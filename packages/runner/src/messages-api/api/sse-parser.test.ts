import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SseParser } from './sse-parser.ts'

describe('events', () => {
  test.each<[string, string, string[]]>([
    ['one', 'event: a\ndata: {"x":1}\n\n', ['{"x":1}']],
    ['with CR LF', 'event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n', ['1', '2']],
    ['without the blank', 'data:1\n\n', ['1']],
    ['of several lines', 'data: 1\ndata: 2\n\n', ['1\n2']],
    ['empty data', 'data:\n\n', ['']],
    ['comments and other fields', ': hi\nid: 7\nretry: 3\nfoo\n\ndata: 1\n\n', ['1']],
    ['cut off', 'data: 1\n\ndata: 2\n', ['1']],
    ['U+2028 is no end of line', 'data: a\u2028b\n\n', ['a\u2028b']],
    ['many blank lines', '\n\n\ndata: 1\n\n\n\n', ['1']],
  ])('%s', (_what, text, expected) => {
    expect(parse([Buffer.from(text)])).toEqual(expected)
  })

  test('are the same however the bytes are cut', () => {
    const text = 'data: {"t":"é€😀"}\r\n\r\nevent: x\ndata: second\ndata: line\n\n'
    const whole = parse([Buffer.from(text)])
    fc.assert(
      fc.property(fc.array(fc.nat(Buffer.byteLength(text)), { maxLength: 20 }), cuts => {
        const bytes = Buffer.from(text)
        const ends = [...cuts.sort((a, b) => a - b), bytes.length]
        const chunks = ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
        expect(parse(chunks)).toEqual(whole)
      }),
    )
  })

  test('a line that never ends is refused, not collected', () => {
    const parser = new SseParser(() => {}, 1000)
    expect(() => {
      for (let index = 0; index < 100; index += 1) parser.push(Buffer.from('x'.repeat(100)))
    }).toThrow('more than 1000 characters')
  })

  test('many lines of one event that never ends are, too', () => {
    const parser = new SseParser(() => {}, 1000)
    expect(() => {
      for (let index = 0; index < 100; index += 1) parser.push(Buffer.from(`data: ${'x'.repeat(100)}\n`))
    }).toThrow('more than 1000 characters')
  })
})

function parse(chunks: Uint8Array[]): string[] {
  const found: string[] = []
  const parser = new SseParser(data => found.push(data))
  for (const chunk of chunks) parser.push(chunk)
  parser.end()
  return found
}
