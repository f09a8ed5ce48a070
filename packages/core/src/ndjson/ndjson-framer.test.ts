import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MALFORMED_TEXT_CHARS, NdjsonFramer, type NdjsonRecord } from './ndjson-framer.ts'

const encode = (text: string) => new TextEncoder().encode(text)

function frame(chunks: Uint8Array[], maxLineBytes?: number): NdjsonRecord[] {
  const framer = new NdjsonFramer({ maxLineBytes })
  return [...chunks.flatMap(chunk => framer.push(chunk)), ...framer.end()]
}

const frameText = (text: string) => frame([encode(text)])

const json = (value: unknown, offset: number, bytes: number): NdjsonRecord => ({
  kind: 'json',
  value,
  bytes,
  offset,
})

describe('records', () => {
  const cases: [name: string, input: string, records: NdjsonRecord[]][] = [
    ['one object', '{"a":1}\n', [json({ a: 1 }, 0, 7)]],
    [
      'any JSON value',
      '1\n"x"\nnull\n[]\n',
      [json(1, 0, 1), json('x', 2, 3), json(null, 6, 4), json([], 11, 2)],
    ],
    ['an unterminated last line', '{}\n{"a":1}', [json({}, 0, 2), json({ a: 1 }, 3, 7)]],
    ['CRLF', '{}\r\n{}\r\n', [json({}, 0, 3), json({}, 4, 3)]],
    ['a BOM at the start', '\uFEFF{}\n', [json({}, 0, 5)]],
    [
      'blank and whitespace lines are skipped',
      '\n{}\n\r\n  \t\n \r\n{}\n \n\t',
      [json({}, 1, 2), json({}, 13, 2)],
    ],
    ['whitespace around a value', ' {} \n', [json({}, 0, 4)]],
    ['U+2028 and U+2029 inside a string', '"a\u2028b\u2029c"\n', [json('a\u2028b\u2029c', 0, 11)]],
    ['nothing', '', []],
  ]
  test.each(cases)('%s', (_name, input, records) => {
    expect(frameText(input)).toEqual(records)
  })

  test('a line over the cap is one oversize record between its neighbours', () => {
    expect(frame([encode('1\n"too long"\n2\n')], 4)).toEqual([
      json(1, 0, 1),
      { kind: 'oversize', bytes: 10, offset: 2 },
      json(2, 13, 1),
    ])
  })
})

describe('hostile input', () => {
  test('a line that is not JSON is kept, and the next one is read', () => {
    expect(frameText('Error: boom\n{}\n')).toEqual([
      {
        kind: 'malformed',
        text: 'Error: boom',
        bytes: 11,
        offset: 0,
        error: expect.stringContaining('JSON'),
      },
      json({}, 12, 2),
    ])
  })

  const malformed: [name: string, input: string][] = [
    ['a truncated object', '{"a":'],
    ['two values on a line', '{}{}'],
    ['NUL bytes', '\0\0\0'],
    ['a raw control character in a string', '"\u0001"'],
    ['a BOM that is not at the start', '{}\n\uFEFF{}'],
    ['deep nesting that never closes', '['.repeat(200_000)],
  ]
  test.each(malformed)('%s is malformed', (_name, input) => {
    expect(frameText(`${input}\n`).at(-1)).toMatchObject({ kind: 'malformed' })
  })

  test('200,000 levels of nesting', () => {
    const [record, ...rest] = frameText(`${'['.repeat(200_000)}${']'.repeat(200_000)}\n`)
    expect(rest).toEqual([])
    expect(record?.kind).toBe('json')
  })

  test('invalid UTF-8 inside a string does not lose the event', () => {
    const input = Uint8Array.of(0x22, 0x61, 0xff, 0x62, 0x22, 0x0a)
    expect(frame([input])).toEqual([json('a\uFFFDb', 0, 5)])
  })

  test('a __proto__ key is an own property and changes no prototype', () => {
    const [record] = frameText('{"__proto__":{"polluted":true}}\n')
    const value = record?.kind === 'json' ? (record.value as object) : {}
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.keys(value)).toEqual(['__proto__'])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('the text of a long malformed line is cut', () => {
    const [record] = frameText('é'.repeat(10_000))
    expect(record).toMatchObject({ text: 'é'.repeat(MALFORMED_TEXT_CHARS), bytes: 20_000 })
  })

  test('the cut never leaves half a character', () => {
    const [record] = frameText(`x${'😀'.repeat(10_000)}`)
    expect(record).toMatchObject({ text: `x${'😀'.repeat(MALFORMED_TEXT_CHARS / 2 - 1)}` })
  })

  test('random bytes never throw, and every non-blank line is accounted for', () => {
    const bytes = fc.array(fc.oneof(fc.constant(0x0a), fc.integer({ min: 0, max: 255 })), { maxLength: 200 })
    fc.assert(
      fc.property(bytes, values => {
        const text = new TextDecoder().decode(Uint8Array.from(values))
        const lines = text.split('\n').filter(line => line.trim() !== '')
        expect(frame([Uint8Array.from(values)])).toHaveLength(lines.length)
      }),
    )
  })
})

describe('chunking', () => {
  const line = fc.oneof(
    fc.json({ stringUnit: 'binary' }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', ' ', '\r', '{"a":', '"\u2028"', '\uFEFF{}', '"😀€é"', `"${'x'.repeat(100)}"`),
  )
  const stream = fc
    .tuple(fc.boolean(), fc.array(line), fc.constantFrom('\n', '\r\n'), fc.boolean())
    .map(([bom, lines, newline, ended]) =>
      encode(`${bom ? '\uFEFF' : ''}${lines.join(newline)}${ended ? newline : ''}`),
    )

  test('any chunking gives the same records', () => {
    fc.assert(
      fc.property(
        stream,
        fc.array(fc.nat({ max: 20 })),
        fc.integer({ min: 1, max: 80 }),
        (input, sizes, cap) => {
          expect(frame(cut(input, sizes), cap)).toEqual(frame([input], cap))
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('every prefix of a stream gives the same whole lines, and its rest as the last record', () => {
    const text = '\uFEFF{"a":"€😀"}\r\n\n not json \n"\u2028"\n[1,2]'
    const input = encode(text)
    const newlineEnds = [...input.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at)
    for (let length = 0; length <= input.length; length += 1) {
      const framer = new NdjsonFramer()
      const whole = framer.push(input.subarray(0, length))
      const complete = (newlineEnds.findLast(at => at < length) ?? -1) + 1
      expect(whole).toEqual(frame([input.subarray(0, complete)]))
      for (const record of framer.end()) {
        expect(record).toMatchObject({ offset: complete, bytes: length - complete })
      }
    }
  })
})

describe('large lines', () => {
  test('20 MB in 1 KB chunks', () => {
    const value = { text: 'é0123456789'.repeat(1_750_000) }
    const input = encode(`${JSON.stringify(value)}\n{"next":true}\n`)
    const records = frame(cut(input, new Array(Math.ceil(input.length / 1024)).fill(1024)))
    expect(records).toHaveLength(2)
    const [first, second] = records
    expect(first?.kind === 'json' && (first.value as typeof value).text === value.text).toBe(true)
    expect(first?.bytes).toBe(input.length - 15)
    expect(second).toMatchObject({ kind: 'json', value: { next: true } })
  })

  test('1 MB byte by byte', () => {
    const input = encode(`"${'y'.repeat(1_000_000)}"`)
    const framer = new NdjsonFramer()
    for (let at = 0; at < input.length; at += 1) framer.push(input.subarray(at, at + 1))
    const [record] = framer.end()
    expect(record?.kind === 'json' && record.value === 'y'.repeat(1_000_000)).toBe(true)
  })
})

/** Cuts at the given sizes; the rest is the last chunk. A size of 0 is an empty chunk. */
function cut(input: Uint8Array, sizes: number[]): Uint8Array[] {
  const chunks: Uint8Array[] = []
  let at = 0
  for (const size of sizes) {
    chunks.push(input.subarray(at, at + size))
    at = Math.min(at + size, input.length)
  }
  return [...chunks, input.subarray(at)]
}

describe('a write that failed in the middle', () => {
  const whole = '{"type":"result","text":"a {b} \\"{\\" c","of":{"n":[1]}}'
  const before = '{"type":"delta","of":{"n":1,"text":"some words"}}'

  test('an object that breaks off anywhere before a whole one on its line is torn', () => {
    for (let cut = 2; cut < before.length; cut += 1)
      expect(frameText(`${before.slice(0, cut)}${whole}\n`)).toMatchObject([
        { kind: 'malformed', isTorn: true },
      ])
  })

  test('an object that breaks off where the stream ends is torn, and words are not', () => {
    expect(frameText(`${whole}\n${before.slice(0, 20)}`).at(-1)).toMatchObject({ isTorn: true })
    expect(frameText(`${whole}\nbye`).at(-1)).not.toHaveProperty('isTorn')
  })

  test.each([
    ['two whole objects on a line', `${before}${whole}`],
    ['an object that breaks off at the end of its line', before.slice(0, 20)],
    ['braces that are no JSON', '{"a": b, {"c": d}}'],
    ['words before an object', `hello ${whole}`],
  ])('%s: not torn', (_name, line) => {
    const [record] = frameText(`${line}\n`)
    expect(record).toMatchObject({ kind: 'malformed' })
    expect(record).not.toHaveProperty('isTorn')
  })
})

describe('many malformed lines in a row', () => {
  const junk = 'not json at all\n'.repeat(25_000)
  const input = new TextEncoder().encode(`{"n":1}\n${junk}{"n":2}\n${junk}`)

  function frameIn(chunkBytes: number) {
    const framer = new NdjsonFramer()
    const records = []
    for (let at = 0; at < input.length; at += chunkBytes)
      records.push(...framer.push(input.subarray(at, at + chunkBytes)))
    return [...records, ...framer.end()]
  }

  test('are few records, and no line is missing', () => {
    const records = frameIn(65_536)
    expect(records.length).toBeLessThan(60)
    const lines = records.map(record => (record.kind === 'malformed' ? (record.lines ?? 1) : 0))
    expect(lines.reduce((sum, count) => sum + count)).toBe(50_000)
    // Each begins where the previous one ended: the spool has all of their bytes.
    for (const [i, { offset, bytes }] of records.entries())
      expect(offset + bytes + 1).toBe(records[i + 1]?.offset ?? input.length)
  })

  test('are the same records however they are cut', () => {
    expect(frameIn(1013)).toEqual(frameIn(65_536))
    expect(frameIn(input.length)).toEqual(frameIn(65_536))
  })
})
