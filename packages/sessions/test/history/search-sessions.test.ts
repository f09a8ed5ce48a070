import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type SearchOptions, searchSessions } from '../../src/history/search/search-sessions.ts'
import { useProject } from '../support/project.ts'
import { type LooseEvent, sessionWith } from '../support/sessions.ts'
import { useStore } from '../support/store.ts'

const project = useProject()
const stores = useStore()

type Loose = LooseEvent

async function session(events: Loose[], { minute = 0, root = project.root } = {}) {
  const options = { store: stores.open(), projectRoot: root, title: `Session ${minute}`, minute }
  return (await sessionWith(events, options)).id
}

async function search(query: string, options: Partial<SearchOptions> = {}) {
  const { hits, unreadable } = await searchSessions({
    query,
    projectRoot: project.root,
    home: stores.home,
    ...options,
  })
  expect(unreadable).toEqual([])
  return hits
}

const TURN: Loose[] = [
  { type: 'turn:start', message: 'Find the Heron in lake.txt' },
  { type: 'chat:thinking', messageId: 'th', text: 'a heron, hm', final: true },
  { type: 'tool:start', toolUseId: 'u', name: 'Grep', input: {} },
  { type: 'tool:input', toolUseId: 'u', delta: '{"pattern":"heron"' },
  { type: 'tool:input', toolUseId: 'u', input: { pattern: 'heron', options: { paths: ['lake.txt'] } } },
  { type: 'tool:result', toolUseId: 'u', content: 'lake.txt:3: a grey HERON', isError: false },
  { type: 'chat:delta', messageId: 'm', text: 'The her' },
  { type: 'chat:delta', messageId: 'm', text: 'on is on line 3.' },
  { type: 'chat:message', messageId: 'm', text: 'The heron is on line 3.' },
  { type: 'chat:complete', text: 'The heron is on line 3.' },
  { type: 'turn:end', reason: 'completed' },
]

describe('what is found', () => {
  test('a word that two pieces of a long answer share, though the log holds the answer only in pieces', async () => {
    const filler = 'There is much to say about water birds. '.repeat(20)
    const answer = (n: number, word: string): Loose[] => [
      { type: 'turn:start', message: `Question ${n}` },
      { type: 'chat:delta', messageId: `m${n}`, text: `${filler}${word.slice(0, 3)}` },
      { type: 'tool:result', toolUseId: `u${n}`, content: 'Between two pieces: Cormorant', isError: false },
      { type: 'chat:delta', messageId: `m${n}`, text: `${word.slice(3)}. ${filler}` },
      { type: 'chat:message', messageId: `m${n}`, text: `${filler}${word}. ${filler}` },
      { type: 'chat:complete', text: `${filler}${word}. ${filler}` },
      { type: 'turn:end', reason: 'completed' },
    ]
    await session([...answer(1, 'Cormorant'), ...answer(2, 'Bittern'), ...answer(3, 'Cormorant')])
    const hits = await search('cormorant')
    expect(hits.map(({ seq, kind }) => [seq, kind])).toEqual([
      ...[
        [19, 'assistant'],
        [17, 'tool'],
        [10, 'tool'],
      ],
      ...[
        [5, 'assistant'],
        [3, 'tool'],
      ],
    ])
    expect(hits[0]?.snippet).toContain('Cormorant')
    expect(await search('bittern')).toMatchObject([{ seq: 12 }])
    expect(await search('bittern', { limit: 1 })).toMatchObject([{ seq: 12 }])
  })

  test('messages, thinking, tools and errors, newest first, each once', async () => {
    const id = await session([
      ...TURN,
      { type: 'session:error', error: 'the heron flew away', code: 'unknown' },
    ])
    const hits = await search('heron')
    expect(hits.map(({ seq, kind }) => [seq, kind])).toEqual([
      [12, 'error'],
      [9, 'assistant'],
      [6, 'tool'],
      [5, 'tool'],
      [2, 'thinking'],
      [1, 'user'],
    ])
    expect(hits[5]).toEqual({
      projectRoot: project.root,
      sessionId: id,
      title: 'Session 0',
      seq: 1,
      at: '2026-01-01T00:00:01.000Z',
      turnId: 't1',
      kind: 'user',
      snippet: 'Find the Heron in lake.txt',
      ranges: [[9, 14]],
    })
  })

  test.each([
    ['grey heron', [6]],
    ['heron grey', [6]],
    ['"grey heron"', [6]],
    ['"heron grey"', []],
    ['lake.txt', [6, 5, 1]],
    ['lakeXtxt', []],
    ['grep', [3]],
    ['event', []],
    ['pattern', []],
    ['chat:message', []],
    ['t1', []],
  ])('%s', async (query, seqs) => {
    await session(TURN)
    expect((await search(query)).map(({ seq }) => seq)).toEqual(seqs)
  })

  test('an answer that no message has, of a slash command', async () => {
    await session([
      { type: 'turn:start', message: '/x' },
      { type: 'chat:complete', text: 'Unknown heron' },
      { type: 'turn:end', reason: 'completed' },
    ])
    expect(await search('heron')).toMatchObject([{ seq: 2, kind: 'assistant' }])
  })

  test.each([
    ['was stopped', [{ type: 'turn:end', reason: 'killed' }]],
    ['runs', []],
  ] as [string, Loose[]][])('words across pieces of a turn that %s', async (_what, end) => {
    await session([...TURN.slice(0, 8), ...end])
    expect(await search('"the heron is"')).toMatchObject([
      { seq: 7, kind: 'assistant', snippet: 'The heron is on line 3.' },
    ])
  })

  test.each([
    ['Привет МИР', 'привет мир'],
    ['a "quoted" word', 'QUOTED word'],
    ['C:\\new\\table', 'c:\\new\\table'],
    ['tab\there', '"tab here"'],
    ['nul \0 byte', '\0'],
    ['half \ud83d pair', '\ud83d'],
    ['(?:regex|.*)+[^a]$', '(?:regex|.*)+[^a]$'],
    ['just a "quote', 'just "quote'],
  ])('%j by %j', async (message, query) => {
    await session([{ type: 'turn:start', message }])
    expect(await search(query)).toHaveLength(1)
  })

  test('a message larger than any buffer, and what stands beside it', async () => {
    const large = `${'word '.repeat(700_000)}Needle`
    await session([
      { type: 'turn:start', message: 'needle before' },
      { type: 'tool:result', toolUseId: 'u', content: large, isError: false },
      { type: 'chat:message', messageId: 'm', text: 'needle after' },
    ])
    expect((await search('needle')).map(({ seq }) => seq)).toEqual([3, 2, 1])
  })
})

describe('how much is found', () => {
  const said = (n: number): Loose => ({ type: 'chat:message', messageId: `m${n}`, text: `heron ${n}` })

  test('the newest of all sessions, up to the limit', async () => {
    await session([said(1), said(2), said(3)], { minute: 2 })
    await session([said(4), said(5), said(6)], { minute: 1 })
    const hits = await search('heron', { limit: 4 })
    expect(hits.map(({ snippet }) => snippet)).toEqual(['heron 3', 'heron 2', 'heron 1', 'heron 6'])
  })

  test('in thousands of lines, across buffers', async () => {
    const filler = 'x'.repeat(400)
    const events = Array.from(
      { length: 6000 },
      (_, n): Loose => ({
        type: 'chat:message',
        messageId: `m${n}`,
        text: `${n % 1000 === 0 ? 'Heron' : 'duck'} ${n} ${filler}`,
      }),
    )
    await session(events)
    expect((await search('heron')).map(({ seq }) => seq)).toEqual([5001, 4001, 3001, 2001, 1001, 1])
  })

  test('nothing where there is nothing', async () => {
    expect(await search('heron')).toEqual([])
  })

  test('every project without one, and one that was moved away hides none', async () => {
    const other = mkdtempSync(join(tmpdir(), 'chirality-other-'))
    onTestFinished(() => rmSync(other, { recursive: true, force: true }))
    await session([said(1)], { minute: 1 })
    await session([said(2)], { minute: 2, root: other })
    expect(await search('heron', { projectRoot: undefined })).toHaveLength(2)
    rmSync(other, { recursive: true })
    expect(await search('heron', { projectRoot: undefined })).toHaveLength(1)
  })

  test('ends when its signal is aborted', async () => {
    await session([said(1)])
    await expect(search('heron', { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  })
})

describe('logs that are not right', () => {
  test('a damaged line hides no other line', async () => {
    const id = await session(TURN)
    const line = (seq: number, text: string) =>
      `${JSON.stringify({
        turnId: 't',
        at: '2026-01-01T00:00:00.000Z',
        sessionId: id,
        seq,
        event: { text, messageId: 'm', sessionId: id, type: 'chat:message' },
      })}\n`
    const path = project.file('events', `${id}.ndjson`)
    writeFileSync(
      path,
      `${line(1, 'heron')}{"seq":2,"heron\n\0\0heron\n${line(4, 'HERON')}{"seq":5,"at":"heron`,
    )
    expect((await search('heron')).map(({ seq }) => seq)).toEqual([4, 1])
  })

  test('an unreadable log is reported, and hides none of the others', async () => {
    await session(TURN)
    const path = project.file('events', 'linked.ndjson')
    symlinkSync('/etc/hosts', path)
    mkdirSync(project.file('events', 'folder.ndjson'))
    const { hits, unreadable } = await searchSessions({
      query: 'grep',
      projectRoot: project.root,
      home: stores.home,
    })
    expect(hits).toHaveLength(1)
    expect(unreadable.map(({ error }) => error).sort()).toEqual([
      expect.stringContaining('folder.ndjson is not a file. Remove it.'),
      expect.stringContaining('linked.ndjson is a symbolic link. Remove it'),
    ])
  })
})
