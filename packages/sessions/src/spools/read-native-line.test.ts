import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { SpoolIndex } from '../store/spool-index.ts'
import { readNativeLine, readNativeLines } from './read-native-lines.ts'

const SESSION = '11111111-2222-4333-8444-555555555555'
const TURN = 'aaaaaaaa-0000-4000-8000-000000000001'
const OWN = `20260101T120000000Z-${SESSION}-${TURN}`
const SHARED = `20260101T120000000Z-app-server-${TURN}`

const project = useProject()

function spool(name: string, content: string | Buffer, harness = 'claude-code'): string {
  const path = project.file('logs', harness, `${name}.ndjson`)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, content)
  return path
}

const read = (options: { id: string; from?: number; maxBytes?: number }) =>
  readNativeLine(project.root, SESSION, options)

async function allPieces(id: string, maxBytes: number): Promise<string[]> {
  const texts: string[] = []
  for (let from: number | null = 0; from !== null; ) {
    const { text, next, from: begin } = await read({ id, from, maxBytes })
    // Whatever the bytes are, it goes on.
    expect([begin, next ?? Number.POSITIVE_INFINITY]).toEqual([
      from,
      expect.toSatisfy(value => value > begin),
    ])
    texts.push(text)
    from = next
  }
  return texts
}

test('a line that pages cut is there as a whole', async () => {
  const long = JSON.stringify({ text: 'ä€𝄞'.repeat(40_000) })
  spool(OWN, `first\n${long}\nlast\n`)
  const { lines } = await readNativeLines(project.root, SESSION)
  const [, cut] = lines
  expect(cut).toMatchObject({ cut: true, bytes: Buffer.byteLength(long) })
  const id = cut?.id ?? ''
  expect(await read({ id })).toEqual({
    id,
    bytes: Buffer.byteLength(long),
    from: 0,
    text: long,
    next: null,
    torn: false,
  })
  const pieces = await allPieces(id, 100_000)
  expect(pieces.length).toBeGreaterThan(3)
  expect(pieces.join('')).toBe(long)
  expect(await read({ id, from: 10 ** 9 })).toMatchObject({ text: '', next: null })
})

test('pieces of any text, put together, are the text, wherever they are cut', async () => {
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 200 })
    .filter(value => !value.includes('\n'))
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 16, max: 60 }), async (line, maxBytes) => {
      spool(OWN, `${line}\n`)
      expect((await allPieces(`${OWN}.0`, maxBytes)).join('')).toBe(Buffer.from(line).toString('utf8'))
    }),
    { numRuns: 100 },
  )
})

test('bytes that are no text come to an end, too', async () => {
  spool(OWN, Buffer.concat([Buffer.alloc(1000, 0x80), Buffer.alloc(1000, 0xf0), Buffer.from('\n')]))
  expect((await allPieces(`${OWN}.0`, 16)).length).toBeGreaterThan(100)
})

test('a line that is not finished is read as far as it is, and on from there', async () => {
  const path = spool(OWN, 'whole\n{"half')
  const id = `${OWN}.6`
  expect(await read({ id })).toMatchObject({ text: '{"half', bytes: 6, next: null, torn: true })
  appendFileSync(path, '":1}\n')
  expect(await read({ id, from: 6 })).toMatchObject({ text: '":1}', bytes: 10, from: 6, torn: false })
})

test('only where a line of the session begins is one', async () => {
  spool(OWN, 'first\n\nlast\n')
  expect(await read({ id: `${OWN}.7` })).toMatchObject({ text: 'last' })
  for (const id of [`${OWN}.1`, `${OWN}.6`, `${OWN}.12`, `${OWN}.9999`, 'x.0', `${OWN}.-1`, '../x.0'])
    await expect(read({ id }), id).rejects.toMatchObject({ code: 'not-found' })
})

test('in a shared spool, the lines of other sessions are not read', async () => {
  const line = (threadId: string) => JSON.stringify({ method: 'item', params: { threadId } })
  const path = spool(SHARED, `${line('ours')}\n${line('theirs')}\n${line('ours')}\n`, 'codex')
  const index = new SpoolIndex(project.root, SESSION)
  await index.prepare()
  const trace = { pid: 1, startTime: '', marker: '', stderrPath: '', spoolPath: path, spoolOffset: 0 }
  index.add({ turnId: TURN, harness: 'codex' }, { ...trace, nativeSessionIds: ['ours'] })
  const second = line('ours').length + 1
  expect(await read({ id: `${SHARED}.0` })).toMatchObject({ text: line('ours') })
  await expect(read({ id: `${SHARED}.${second}` })).rejects.toMatchObject({ code: 'not-found' })
  expect(await read({ id: `${SHARED}.${second + line('theirs').length + 1}` })).toMatchObject({
    text: line('ours'),
  })
})
