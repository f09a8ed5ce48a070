import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LineReader } from './line-reader.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chirality-lines-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function withFile<T>(bytes: string | Buffer, read: (reader: LineReader) => Promise<T>): Promise<T> {
  const path = join(folder, 'spool')
  writeFileSync(path, bytes)
  const reader = await LineReader.open(path)
  return read(reader).finally(() => reader.close())
}

const ALL = { from: 0, maxBytes: 1e9, maxLines: 1e9, headBytes: 1e6 }

test('lines with where they are; blank ones are left out, and the last one is marked where it is not finished', async () => {
  const { lines, next } = await withFile('one\n\ntwo\r\n{"tor', reader => reader.read(ALL))
  expect(lines.map(({ offset, head, torn }) => [offset, head.toString(), torn])).toEqual([
    [0, 'one', false],
    [5, 'two\r', false],
    [10, '{"tor', true],
  ])
  expect(next).toBe(10)
})

test('a line of any length is kept only with its beginning and its length', async () => {
  const { lines } = await withFile(`${'x'.repeat(3_000_000)}\nafter\n`, reader =>
    reader.read({ ...ALL, headBytes: 10 }),
  )
  expect(lines.map(({ bytes, head }) => [bytes, head.length])).toEqual([
    [3_000_000, 10],
    [5, 5],
  ])
})

test('a page has one line at least, and ends between lines', async () => {
  const text = `${'a'.repeat(600_000)}\nb\nc\n`
  await withFile(text, async reader => {
    expect(await reader.read({ ...ALL, maxBytes: 10 })).toMatchObject({
      lines: [{ bytes: 600_000 }],
      next: 600_001,
    })
    const before = (end: number, maxBytes: number) =>
      reader.startBefore({ floor: 0, end, maxBytes, maxLines: 100 })
    expect(await before(600_001, 10)).toBe(0)
    expect(await before(text.length, 2)).toBe(600_003)
    expect(await before(text.length, 5)).toBe(600_001)
    expect(await before(text.length, 1e9)).toBe(0)
  })
})

test('any file is read the same in pages of any size, forwards and backwards', async () => {
  const anyLine = fc.oneof(
    fc.string(),
    fc.constant(''),
    fc.integer({ min: 0, max: 400_000 }).map(n => 'y'.repeat(n)),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyLine, { maxLength: 12 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 300_000 }),
      fc.integer({ min: 1, max: 5 }),
      async (texts, isFinished, maxBytes, maxLines) => {
        const bytes = Buffer.from(texts.join('\n') + (isFinished ? '\n' : ''))
        await withFile(bytes, async reader => {
          const offsets = (await reader.read(ALL)).lines.map(({ offset }) => offset)
          const forwards: number[] = []
          for (let from = 0; ; ) {
            const page = await reader.read({ ...ALL, from, maxBytes, maxLines })
            forwards.push(...page.lines.map(({ offset }) => offset))
            if (page.next === from || page.lines.some(line => line.torn)) break
            from = page.next
          }
          expect(forwards).toEqual(offsets)
          const backwards: number[] = []
          for (let end = bytes.length; end > 0; ) {
            const start = await reader.startBefore({ floor: 0, end, maxBytes, maxLines })
            expect(start).toBeLessThan(end)
            const { lines } = await reader.read({ ...ALL, from: start, to: end })
            backwards.unshift(...lines.map(({ offset }) => offset))
            end = start
          }
          expect(backwards).toEqual(offsets)
        })
      },
    ),
    { numRuns: 60 },
  )
})

test('a link, a folder and a pipe are no spool', async () => {
  const real = join(folder, 'real')
  writeFileSync(real, 'secret\n')
  symlinkSync(real, join(folder, 'link'))
  mkdirSync(join(folder, 'folder'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await expect(LineReader.open(join(folder, 'link'))).rejects.toMatchObject({ code: 'ELOOP' })
  for (const name of ['folder', 'pipe'])
    await expect(LineReader.open(join(folder, name))).rejects.toMatchObject({ code: 'unsafe' })
})
