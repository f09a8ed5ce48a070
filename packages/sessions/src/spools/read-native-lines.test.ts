import { appendFileSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TurnProcess } from '@chirality/core'
import { expect, test } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { SpoolIndex } from '../store/spool-index.ts'
import { type NativeLinesOptions, type NativePage, readNativeLines } from './read-native-lines.ts'

const SESSION = '11111111-2222-4333-8444-555555555555'
const OTHER = '99999999-2222-4333-8444-555555555555'
const [T1, T2, T3] = [1, 2, 3].map(n => `aaaaaaaa-0000-4000-8000-00000000000${n}`) as [string, string, string]

const project = useProject()

function nameOf(minute: number, ids: string): string {
  return `20260101T12${String(minute).padStart(2, '0')}00000Z-${ids}.ndjson`
}

function spool(name: string, text: string, harness = 'claude-code'): string {
  const path = project.file('logs', harness, name)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, text)
  return path
}

async function noted(
  turnId: string,
  spoolPath: string,
  more: Partial<TurnProcess> = {},
  harness = 'claude-code',
) {
  const index = new SpoolIndex(project.root, SESSION)
  await index.prepare()
  const process = { pid: 1, startTime: '', marker: '', stderrPath: '', spoolPath, spoolOffset: 0, ...more }
  index.add({ turnId, harness }, process)
}

const read = (options: NativeLinesOptions = {}, session = SESSION) =>
  readNativeLines(project.root, session, options)
const texts = ({ lines }: NativePage) => lines.map(({ text }) => text)

test('a session without a spool has no lines, and no place to go on from', async () => {
  expect(await read()).toEqual({ lines: [], before: null, after: null, more: false, problems: [] })
})

test('spools without an index entry are found by their names, in order, and only those of the session', async () => {
  spool(nameOf(2, `${SESSION}-${T2}`), 'second\n', 'agent-sdk')
  spool(nameOf(1, `${SESSION}-${T1}`), 'first\n')
  spool(nameOf(1, `${OTHER}-${T1}`), 'foreign\n')
  spool(nameOf(1, `${SESSION}-${OTHER}-${T1}`), 'of a session whose id begins alike\n')
  spool(`x-${SESSION}-${T1}.ndjson`, 'no spool\n')
  const page = await read()
  expect(page.lines).toMatchObject([
    { turnId: T1, harness: 'claude-code', text: 'first', bytes: 5, offset: 0, cut: false, torn: false },
    { turnId: T2, harness: 'agent-sdk', text: 'second' },
  ])
  expect(texts(await read({}, OTHER))).toEqual(['foreign'])
})

test('an agent that is kept has one spool for many turns: each line is of its turn, once', async () => {
  const path = spool(nameOf(1, `${SESSION}-${T1}`), 'a1\na2\n')
  await noted(T1, path)
  const first = await read()
  appendFileSync(path, 'between\n')
  const between = await read({ after: first.after ?? '' })
  expect(between.lines).toMatchObject([{ turnId: T1, text: 'between' }])
  await noted(T2, path, { spoolOffset: 6 })
  appendFileSync(path, 'b1\n')
  expect(texts(await read({ after: between.after ?? '' }))).toEqual(['b1'])
  const all = await read()
  expect(all.lines.map(({ turnId, text }) => [turnId, text])).toEqual([
    ...[
      [T1, 'a1'],
      [T1, 'a2'],
      [T2, 'between'],
      [T2, 'b1'],
    ],
  ])
  expect(between.lines[0]?.id).toBe(all.lines[2]?.id)
})

test('pages cover everything once, in both directions, over turns and spools', async () => {
  const lines = (turn: string) => Array.from({ length: 300 }, (_, i) => `${turn} ${i} ${'x'.repeat(i % 50)}`)
  const [one, two] = [lines('one'), lines('two')]
  spool(nameOf(1, `${SESSION}-${T1}`), `${one.join('\n')}\n`)
  spool(nameOf(2, `${SESSION}-${T2}`), `${two.join('\n')}\n`)
  const backwards: string[] = []
  let first: string | null = null
  for (let before: string | null | undefined; before !== null; ) {
    const page: NativePage = await read({ maxBytes: 5000, ...(before === undefined ? {} : { before }) })
    expect(page.lines.length).toBeLessThan(200)
    backwards.unshift(...texts(page))
    before = page.before
    first = page.lines[0]?.id ?? first
  }
  expect(backwards).toEqual([...one, ...two])
  const forwards: string[] = []
  for (
    let page = await read({ after: first ?? '', maxBytes: 5000 });
    ;
    page = await read({ after: page.after ?? '', maxBytes: 5000 })
  ) {
    forwards.push(...texts(page))
    if (!page.more) break
  }
  expect(forwards).toEqual([...one, ...two])
})

test('a line that is still being written is there, marked, and is read again when it is whole', async () => {
  const path = spool(nameOf(1, `${SESSION}-${T1}`), 'whole\n{"half')
  const first = await read()
  expect(first.lines).toMatchObject([{ torn: false }, { text: '{"half', torn: true }])
  appendFileSync(path, '":1}\nnext\n')
  const second = await read({ after: first.after ?? '' })
  expect(second.lines).toMatchObject([{ text: '{"half":1}', torn: false }, { text: 'next' }])
  expect(second.lines[0]?.id).toBe(first.lines[1]?.id)
  expect(await read({ after: second.after ?? '' })).toMatchObject({
    lines: [],
    more: false,
    after: second.after,
  })
})

test('a line that is not JSON is kept; a line that is too long is cut between characters and has its length', async () => {
  const long = '€'.repeat(40_000)
  spool(nameOf(1, `${SESSION}-${T1}`), `warning: <b>no JSON</b>\u2028\u0000\n${long}\n`)
  const [plain, cut] = (await read()).lines
  expect(plain?.text).toBe('warning: <b>no JSON</b>\u2028\u0000')
  expect(cut).toMatchObject({ bytes: 120_000, cut: true })
  expect(long.startsWith(cut?.text ?? 'x')).toBe(true)
  expect(Buffer.byteLength(cut?.text ?? '')).toBeGreaterThan(60_000)
})

test('in a shared spool, only the lines of this session’s conversation are read', async () => {
  const [ours, child, theirs] = ['thread-ours', 'thread-child', 'thread-theirs']
  const line = (threadId: string, text: string) =>
    JSON.stringify({ method: 'item', params: { threadId, text } })
  const born = JSON.stringify({
    method: 'thread/started',
    params: { thread: { id: child, parentThreadId: ours } },
  })
  const foreign = Array.from({ length: 200 }, () => line(theirs, 'x'.repeat(500)))
  const path = spool(
    nameOf(1, `app-server-${T1}`),
    [line(ours, 'before'), line(ours, '1'), born, ...foreign, line(child, '2'), line(ours, '3'), ''].join(
      '\n',
    ),
    'codex',
  )
  const spoolOffset = line(ours, 'before').length + 1
  await noted(T1, path, { spoolOffset, nativeSessionIds: [ours] }, 'codex')
  // Read from its end alone, it is still known whose child it is.
  const last = await read({ maxBytes: 300 })
  expect(last.lines.map(({ text }) => JSON.parse(text).params.text)).toEqual(['2', '3'])
  const all = await read()
  expect(all.lines.map(({ text }) => JSON.parse(text).params.text ?? 'born')).toEqual(['1', 'born', '2', '3'])
  appendFileSync(path, `${line(theirs, 'y')}\n${line(child, '4')}\n`)
  const next = await read({ after: all.after ?? '' })
  expect(next.lines.map(({ text }) => JSON.parse(text).params.text)).toEqual(['4'])
  await noted(T2, path, { nativeSessionIds: [] }, 'codex')
  expect((await read()).lines).toHaveLength(5)
})

test('an index that another program wrote opens no other file', async () => {
  const own = spool(nameOf(1, `${SESSION}-${T1}`), 'own\n')
  spool(nameOf(1, `${OTHER}-${T2}`), 'foreign\n')
  await noted(T1, own)
  const entry = (fields: object) =>
    `\n${JSON.stringify({ turnId: T2, at: '2026-01-01T12:00:00.000Z', harness: 'claude-code', from: 0, ...fields })}`
  const hostile = [
    { spool: nameOf(1, `${OTHER}-${T2}`) },
    { spool: `../../../../etc/${nameOf(1, SESSION)}` },
    { spool: nameOf(1, `${SESSION}-${T2}`), harness: '../events' },
    { spool: nameOf(1, `${SESSION}-${T1}`), from: -1 },
    { spool: nameOf(1, `${SESSION}-${T1}`), from: 1.5 },
    { spool: nameOf(1, `app-server-${T1}`) },
    { spool: 7 },
  ]
  const index = project.file('state', 'spools', `${SESSION}.ndjson`)
  appendFileSync(index, `${hostile.map(entry).join('')}\nrubbish\n[]\nnull\n{"tur`)
  expect(await read()).toMatchObject({ lines: [{ text: 'own' }], problems: [] })
})

test('a spool that is gone, cut or a link is said, and hides no other', async () => {
  const cut = spool(nameOf(1, `${SESSION}-${T1}`), 'one\ntwo\n')
  await noted(T1, cut, { spoolOffset: 4 })
  truncateSync(cut, 2)
  const gone = spool(nameOf(2, `${SESSION}-${T2}`), 'gone\n')
  await noted(T2, gone)
  rmSync(gone)
  spool('secret', 'secret\n')
  symlinkSync(
    project.file('logs', 'claude-code', 'secret'),
    project.file('logs', 'claude-code', nameOf(3, `${SESSION}-${T3}`)),
  )
  spool(nameOf(4, `${SESSION}-${T2}`), 'readable\n')
  const page = await read()
  expect(texts(page)).toEqual(['readable'])
  expect(page.problems).toHaveLength(3)
  for (const [turnId, what] of [
    [T1, 'was cut'],
    [T2, 'is gone'],
    [T3, 'is a symbolic link'],
  ])
    expect(page.problems).toContainEqual({ turnId, message: expect.stringContaining(what as string) })
})

test('a place that is no place is refused with what to do', async () => {
  spool(nameOf(1, `${SESSION}-${T1}`), 'one\n')
  for (const after of [
    '',
    'x',
    `${nameOf(9, SESSION)}.0`,
    '../../x.0',
    `20260101T120100000Z-${SESSION}-${T1}.-1`,
  ])
    await expect(read({ after })).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('Read it again'),
    })
  await expect(read({}, '../x')).rejects.toMatchObject({ code: 'invalid-id' })
  rmSync(project.file('logs'), { recursive: true })
  expect((await read()).lines).toEqual([])
})
