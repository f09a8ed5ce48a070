import { describe, expect, test } from 'vitest'
import { LineFramer, type LineRecord } from './line-framer.ts'

const encode = (text: string) => new TextEncoder().encode(text)

function frame(chunks: Uint8Array[], maxLineBytes?: number): LineRecord[] {
  const framer = new LineFramer({ maxLineBytes })
  return [...chunks.flatMap(chunk => framer.push(chunk)), ...framer.end()]
}

describe('lines', () => {
  const cases: [name: string, input: string, lines: string[]][] = [
    ['nothing', '', []],
    ['one line', 'a\n', ['a']],
    ['an unterminated last line', 'a\nb', ['a', 'b']],
    ['blank lines, which stderr uses on purpose', 'a\n\n\nb\n', ['a', '', '', 'b']],
    ['CRLF', 'a\r\nb\r\n\r\n', ['a', 'b', '']],
    ['only the CR next to the newline', 'a\r\r\n', ['a\r']],
    ['a bare CR as text: a progress bar is one line', '10%\r20%\n', ['10%\r20%']],
    ['a CR at the end of the stream', 'a\r', ['a']],
    ['other Unicode line ends as text', 'a\u2028b\u2029c\u0085d\n', ['a\u2028b\u2029c\u0085d']],
    ['a BOM at the start', '\uFEFFa\n', ['a']],
    ['a BOM and nothing else', '\uFEFF', ['']],
    ['a BOM anywhere else as text', 'a\n\uFEFFb\uFEFF\n', ['a', '\uFEFFb\uFEFF']],
    ['NUL and other control characters', 'a\0b\x1b[31m\n', ['a\0b\x1b[31m']],
  ]
  test.each(cases)('%s', (_name, input, lines) => {
    expect(frame([encode(input)]).map(record => record.kind === 'line' && record.text)).toEqual(lines)
  })

  test('offset + bytes + 1 is where the next line starts, BOM and CR counted', () => {
    const input = encode('\uFEFFé\r\n\nü\n')
    expect(frame([input])).toEqual([
      { kind: 'line', text: 'é', bytes: 6, offset: 0 },
      { kind: 'line', text: '', bytes: 0, offset: 7 },
      { kind: 'line', text: 'ü', bytes: 2, offset: 8 },
    ])
  })

  test('a character may arrive in pieces', () => {
    const input = encode('€😀\n')
    expect(frame(Array.from(input, byte => Uint8Array.of(byte)))).toEqual(frame([input]))
  })

  test('invalid UTF-8 becomes U+FFFD', () => {
    const input = Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x82, 0x0a)
    expect(frame([input])).toEqual([{ kind: 'line', text: 'a\uFFFDb\uFFFD', bytes: 5, offset: 0 }])
  })
})

describe('the cap', () => {
  test('a line of exactly the cap is kept, one byte more is not', () => {
    expect(frame([encode('1234\n12345\n1234')], 4)).toEqual([
      { kind: 'line', text: '1234', bytes: 4, offset: 0 },
      { kind: 'oversize', bytes: 5, offset: 5 },
      { kind: 'line', text: '1234', bytes: 4, offset: 11 },
    ])
  })

  test('a line far over the cap is counted to its end and reading goes on', () => {
    const part = encode('x'.repeat(1000))
    const framer = new LineFramer({ maxLineBytes: 10 })
    for (let i = 0; i < 100; i += 1) expect(framer.push(part)).toEqual([])
    expect(framer.push(encode('\nok\n'))).toEqual([
      { kind: 'oversize', bytes: 100_000, offset: 0 },
      { kind: 'line', text: 'ok', bytes: 2, offset: 100_001 },
    ])
  })

  test('an unterminated line over the cap is reported at the end, once', () => {
    const framer = new LineFramer({ maxLineBytes: 2 })
    framer.push(encode('abc'))
    expect(framer.end()).toEqual([{ kind: 'oversize', bytes: 3, offset: 0 }])
    expect(framer.end()).toEqual([])
  })

  test('no cap lets through a line that no string can hold', () => {
    const framer = new LineFramer({ maxLineBytes: Number.POSITIVE_INFINITY })
    const bytes = 0x1fffffe8 + 1
    framer.push(new Uint8Array(bytes))
    expect(framer.end()).toEqual([{ kind: 'oversize', bytes, offset: 0 }])
  })

  test.each([0, -1, Number.NaN])('a cap of %s is refused', maxLineBytes => {
    expect(() => new LineFramer({ maxLineBytes })).toThrow(RangeError)
  })
})

describe('the caller may reuse its chunk', () => {
  test('a tail that reads into one buffer gets every line right', () => {
    const input = encode('first line\nsecond line, longer\nthird')
    const buffer = new Uint8Array(7)
    const framer = new LineFramer()
    const records: LineRecord[] = []
    for (let at = 0; at < input.length; at += buffer.length) {
      const read = input.subarray(at, at + buffer.length)
      buffer.set(read)
      records.push(...framer.push(buffer.subarray(0, read.length)))
      buffer.fill(0)
    }
    records.push(...framer.end())
    expect(records).toEqual(frame([input]))
  })

  test('a chunk that is a window into a larger buffer is read as that window', () => {
    expect(frame([encode('xxa\nbxx').subarray(2, 5)])).toEqual(frame([encode('a\nb')]))
  })
})
