import { createHash } from 'node:crypto'
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { JournalEntry } from '../src/journal.ts'
import type { Journal } from '../src/journal-file.ts'
import { LoopStore } from '../src/loop-store.ts'
import { keyFile, openSeal } from '../src/machine-key.ts'
import { writeOwnLoop } from '../src/own-loop.ts'
import { parseTaskList } from '../src/task-list.ts'
import { projectWith } from './support/loop-project.ts'

const LIST = '- [ ] One\n  checks: test -e .\n- [ ] Two\n'
const LOOP = 'tasks-1'
const { settings, tasks } = parseTaskList(LIST, 'TASKS.md')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const END: JournalEntry = { type: 'loop:end', reason: 'stopped', why: 'It was stopped.' }

/** A loop of which one task failed, at rest. */
function world() {
  const { project, list, home } = projectWith(LIST)
  writeOwnLoop(home, LOOP, { project, allowed: ['test -e .'] })
  const store = new LoopStore(project, home)
  const folder = store.folder(LOOP)
  writeFileSync(path.join(folder, 'list.md'), LIST)
  const journal = store.journal(LOOP)
  const [one] = tasks
  if (one === undefined) throw new Error('no task')
  journal.add({
    type: 'loop:start',
    loopId: LOOP,
    list,
    projectRoot: project,
    base: 'b',
    baseBranch: 'main',
    worktreeId: 'w',
    settings,
    allowed: ['test -e .'],
    ticked: [],
    listHash: sha256(LIST),
  })
  journal.add({ type: 'task:start', task: one, sessionId: 's', worktreeId: 't', base: 'b' })
  journal.add(
    { type: 'iteration:start', task: 'one', n: 1, fromSeq: 0 },
    { type: 'task:failed', task: 'one', why: 'No.' },
  )
  const file = (name: string) => path.join(folder, name)
  return { project, home, store, folder, journal, file }
}

const lines = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1)
const setLines = (file: string, all: string[]) => writeFileSync(file, all.map(line => `${line}\n`).join(''))
const forged = JSON.stringify({
  at: '2030-01-01T00:00:00.000Z',
  type: 'task:merged',
  task: 'one',
  commit: 'b',
})

/** A line that follows by its hash, without the key. */
function chained(before: string, body: string): string {
  const { chain } = JSON.parse(before)
  const next = sha256(`${chain}\n${body}`)
  return `${body.slice(0, -1)},"chain":"${next}","sig":"${'A'.repeat(86)}=="}`
}

test('an untouched journal is believed, and its entries are those that were written', async () => {
  const { store, journal, project, home, folder } = world()
  journal.close()
  const found = await new LoopStore(project, home).read(LOOP)
  expect(found?.state).toMatchObject({ broken: [], altered: [] })
  expect(found?.state.tasks.get('one')?.status).toBe('failed')
  expect(found?.journal?.entries.map(({ type }) => type)).toEqual([
    'loop:start',
    'task:start',
    'iteration:start',
    'task:failed',
  ])
  expect(await store.copyDifferences(LOOP)).toEqual([])
  expect(readFileSync(path.join(folder, 'journal.ndjson'))).toEqual(
    readFileSync(path.join(store.copy(LOOP).folder, 'journal.ndjson')),
  )
})

type World = ReturnType<typeof world>

/** Manipulations of a loop that does not run. Each is found, and no task is proved by it. */
const AT_REST: Record<string, (world: World) => void> = {
  'a line without a chain': ({ file }) => appendFileSync(file('journal.ndjson'), `${forged}\n`),
  'a line with the right hash and a made-up signature': ({ file }) =>
    appendFileSync(
      file('journal.ndjson'),
      `${chained(lines(file('journal.ndjson')).at(-1) ?? '', forged)}\n`,
    ),
  'a line with the right hash and the signature of another line': ({ file }) => {
    const all = lines(file('journal.ndjson'))
    const { sig } = JSON.parse(all.at(-1) ?? '')
    const made = chained(all.at(-1) ?? '', forged).replace(/"sig":"[^"]*"/, `"sig":"${sig}"`)
    appendFileSync(file('journal.ndjson'), `${made}\n`)
  },
  'a word changed in a line': ({ file }) =>
    setLines(
      file('journal.ndjson'),
      lines(file('journal.ndjson')).map(line => line.replace('task:failed', 'task:merged')),
    ),
  'a line taken out': ({ file }) =>
    setLines(
      file('journal.ndjson'),
      lines(file('journal.ndjson')).filter((_, at) => at !== 1),
    ),
  'two lines swapped': ({ file }) => {
    const [a = '', b = '', c = '', d = ''] = lines(file('journal.ndjson'))
    setLines(file('journal.ndjson'), [a, c, b, d])
  },
  'the last entry cut off': ({ file }) =>
    setLines(file('journal.ndjson'), lines(file('journal.ndjson')).slice(0, 2)),
  'cut off in the middle of entries that belong together': ({ file }) =>
    setLines(file('journal.ndjson'), lines(file('journal.ndjson')).slice(0, 3)),
  'the journal emptied': ({ file }) => truncateSync(file('journal.ndjson')),
  'the journal removed': ({ file }) => rmSync(file('journal.ndjson')),
  'the journal is a folder': ({ file }) => {
    rmSync(file('journal.ndjson'))
    mkdirSync(file('journal.ndjson'))
  },
  'the journal is a link to the copy in the project': ({ file, store }) => {
    rmSync(file('journal.ndjson'))
    symlinkSync(path.join(store.copy(LOOP).folder, 'journal.ndjson'), file('journal.ndjson'))
  },
  'the head removed': ({ file }) => rmSync(file('head.json')),
  'the head set back with the end of the journal': ({ file }) => {
    const all = lines(file('journal.ndjson')).slice(0, 2)
    const { chain, sig } = JSON.parse(all[1] ?? '')
    setLines(file('journal.ndjson'), all)
    const head = JSON.parse(readFileSync(file('head.json'), 'utf8'))
    writeFileSync(file('head.json'), `${JSON.stringify({ ...head, count: 2, chain, sig })}\n`)
  },
  'the head with another number': ({ file }) => {
    const head = JSON.parse(readFileSync(file('head.json'), 'utf8'))
    writeFileSync(file('head.json'), JSON.stringify({ ...head, count: 2 }))
  },
  'the head is no JSON': ({ file }) => writeFileSync(file('head.json'), 'none'),
  'the journal of another loop in its place': ({ file, store, project, home }) => {
    const other = 'tasks-2'
    writeOwnLoop(home, other, { project, allowed: [] })
    const journal = store.journal(other)
    journal.add({
      type: 'loop:start',
      loopId: LOOP,
      list: 'l',
      projectRoot: project,
      base: 'b',
      baseBranch: 'main',
      worktreeId: 'w',
      settings,
    })
    journal.close()
    for (const name of ['journal.ndjson', 'head.json'])
      copyFileSync(path.join(store.folder(other), name), file(name))
  },
  'a command allowed in own.json': ({ file }) => {
    const own = JSON.parse(readFileSync(file('own.json'), 'utf8'))
    writeFileSync(file('own.json'), JSON.stringify({ ...own, allowed: ['rm -rf /'] }))
  },
  'another project in own.json': ({ file }) => {
    const own = JSON.parse(readFileSync(file('own.json'), 'utf8'))
    writeFileSync(file('own.json'), JSON.stringify({ ...own, project: '/' }))
  },
  'own.json of another loop': ({ file, home, project }) => {
    writeOwnLoop(home, 'tasks-3', { project, allowed: ['rm -rf /'] })
    copyFileSync(path.join(home, 'loops/tasks-3/own.json'), file('own.json'))
  },
  'own.json removed': ({ file }) => rmSync(file('own.json')),
  'the list as it began': ({ file }) =>
    writeFileSync(file('list.md'), LIST.replace('  checks: test -e .\n', '')),
  'the list as it began removed': ({ file }) => rmSync(file('list.md')),
  'another key': ({ home }) => {
    rmSync(keyFile(home))
    openSeal(home)
  },
  'the key removed': ({ home }) => rmSync(keyFile(home)),
  'another project in own.json, and no copy': ({ file, store }) => {
    const own = JSON.parse(readFileSync(file('own.json'), 'utf8'))
    writeFileSync(file('own.json'), JSON.stringify({ ...own, project: '/' }))
    rmSync(store.copy(LOOP).folder, { recursive: true })
  },
}

test.each(Object.entries(AT_REST))('at rest, %s: it is found, and proves nothing', async (_, change) => {
  const here = world()
  here.journal.close()
  change(here)
  const store = new LoopStore(here.project, here.home)
  const found = await store.list()
  const state = found.find(({ loopId }) => loopId === LOOP)
  const copy = await store.copyDifferences(LOOP)
  expect([...(state?.broken ?? []), state?.unreadable, ...copy, state?.isForeign].some(Boolean)).toBe(true)
  expect([...(state?.tasks.values() ?? [])].some(({ status }) => status === 'merged')).toBe(false)
})

/** Manipulations while a process runs the loop. */
const WHILE_IT_RUNS: Record<string, (world: World) => void> = {
  ...Object.fromEntries(
    Object.entries(AT_REST).filter(([name]) => /journal|head|line|entr/.test(name) && !/list/.test(name)),
  ),
  'a byte changed in place, with the times of the file': ({ file }) => {
    const bytes = readFileSync(file('journal.ndjson'))
    bytes[40] = (bytes[40] ?? 0) ^ 1
    writeFileSync(file('journal.ndjson'), bytes)
    utimesSync(file('journal.ndjson'), new Date(0), new Date(0))
  },
  'another file in its place': ({ file }) => {
    copyFileSync(file('journal.ndjson'), file('other'))
    appendFileSync(file('other'), `${forged}\n`)
    renameSync(file('other'), file('journal.ndjson'))
  },
  'the whole folder removed': ({ folder }) => rmSync(folder, { recursive: true }),
}

test.each(Object.entries(WHILE_IT_RUNS))(
  'while it runs, %s: the next entry says so, and what the loop did is kept',
  async (_, change) => {
    const here = world()
    const before = lines(here.file('journal.ndjson'))
    change(here)
    const stamped = here.journal.add(END)
    here.journal.close()
    expect(stamped.map(({ type }) => type)).toEqual(['journal:altered', 'loop:end'])
    expect(lines(here.file('journal.ndjson')).slice(0, 4)).toEqual(before)
    for (const [name, text] of [['list.md', LIST]] as const) writeFileSync(here.file(name), text)
    writeOwnLoop(here.home, LOOP, { project: here.project, allowed: ['test -e .'] })
    const found = await new LoopStore(here.project, here.home).read(LOOP)
    expect(found?.state).toMatchObject({ broken: [], end: { reason: 'stopped' } })
    expect(found?.state.altered.length).toBeGreaterThan(0)
    expect(found?.state.tasks.get('one')?.status).toBe('failed')
  },
)

test('a change after the last entry is found when the loop ends', () => {
  const { journal, file } = world()
  appendFileSync(file('journal.ndjson'), `${forged}\n`)
  expect(journal.settle().map(({ type }) => type)).toEqual(['journal:altered'])
  expect(journal.settle()).toEqual([])
  // The finding is kept.
  const aside = readdirSync(path.dirname(file('journal.ndjson'))).filter(name => name.includes('altered'))
  expect(aside.map(name => lines(file(name)).at(-1))).toEqual([forged])
  journal.close()
})

test('a journal that this process has read cannot be set back, also with a head that was right once', async () => {
  const { store, journal, file } = world()
  const [head, then] = [readFileSync(file('head.json')), readFileSync(file('journal.ndjson'))]
  journal.add(END)
  journal.close()
  expect((await store.find(LOOP))?.end?.reason).toBe('stopped')
  writeFileSync(file('head.json'), head)
  writeFileSync(file('journal.ndjson'), then)
  expect((await store.find(LOOP))?.broken).toEqual([expect.stringContaining('somebody set it back')])
  // Another process has not seen it: the copy in the project has more than the original.
  expect(await store.copyDifferences(LOOP)).toEqual(['journal.ndjson'])
})

/** All that a process that is killed can leave: between any two writes, and in the middle of one. */
test('after a kill between any two writes the chain and the signatures hold, and nothing is said twice or in part', async () => {
  const { store, journal, file, project, home } = world()
  const states: { journal: Buffer; head: Buffer }[] = []
  const add = (...entries: JournalEntry[]) => {
    const head = readFileSync(file('head.json'))
    const before = readFileSync(file('journal.ndjson')).length
    journal.add(...entries)
    const all = readFileSync(file('journal.ndjson'))
    // With the head of before, and cut at every byte of what was added.
    for (let end = before; end <= all.length; end += 7) states.push({ journal: all.subarray(0, end), head })
    states.push({ journal: all, head }, { journal: all, head: readFileSync(file('head.json')) })
  }
  add({ type: 'task:again', task: 'one', note: '' })
  add(
    { type: 'iteration:start', task: 'one', n: 2, fromSeq: 0 },
    { type: 'task:failed', task: 'one', why: 'Again.' },
  )
  add(END)
  journal.close()
  for (const state of states) {
    writeFileSync(file('journal.ndjson'), state.journal)
    writeFileSync(file('head.json'), state.head)
    const found = await new LoopStore(project, home).read(LOOP)
    expect(found?.state.broken).toEqual([])
    // Two entries that belong together are there together.
    const types = found?.journal?.entries.map(({ type }) => type) ?? []
    expect(types.filter(type => type === 'iteration:start')).toHaveLength(
      types.filter(type => type === 'task:failed').length,
    )
    const next: Journal = store.journal(LOOP, found?.journal)
    expect(next.add({ type: 'loop:setup' }).map(({ type }) => type)).toEqual(['loop:setup'])
    next.close()
    expect((await new LoopStore(project, home).read(LOOP))?.state.broken).toEqual([])
  }
}, 120_000)
