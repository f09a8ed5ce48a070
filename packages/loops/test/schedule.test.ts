import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  dueWork,
  NEW_SCHEDULE,
  type NewSchedule,
  nextTime,
  type RunReceipt,
  ScheduleBook,
  type ScheduleTimes,
  timesAfter,
  timesInWords,
} from '../src/index.ts'

const HOUR = 3_600_000
const at = (time: string) => Date.parse(time)
const cron = (fields: string, timeZone: string): ScheduleTimes => ({ kind: 'cron', cron: fields, timeZone })
const times = (when: ScheduleTimes, from: string, count: number) => timesAfter(when, at(from), count)

test.each([
  ['Europe/Berlin', '2026-03-28T12:00:00Z', ['2026-03-29T01:00', '2026-03-30T00:30', '2026-03-31T00:30']],
  ['Europe/Berlin', '2026-10-24T12:00:00Z', ['2026-10-25T00:30', '2026-10-26T01:30', '2026-10-27T01:30']],
  ['America/New_York', '2026-03-07T12:00:00Z', ['2026-03-08T07:00', '2026-03-09T06:30', '2026-03-10T06:30']],
  [
    'Australia/Lord_Howe',
    '2026-10-02T20:00:00Z',
    ['2026-10-03T15:30', '2026-10-04T15:30', '2026-10-05T15:30'],
  ],
])('a daily time runs once on each day when clocks change in %s', (zone, from, expected) => {
  const found = times(cron('30 2 * * *', zone), from, 3)
  expect(found.map(time => time.slice(0, 16))).toEqual(expected)
})

test.each(['2026-03-28T22:30:00Z', '2026-10-24T22:30:00Z'])(
  'an hourly time leaves no hour out and has none twice when clocks change after %s',
  from => {
    const found = times(cron('0 * * * *', 'Europe/Berlin'), from, 8).map(at)
    expect(found.map(time => (time - (found[0] ?? 0)) / HOUR)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  },
)

test('a value that is no time is refused with the reason', () => {
  const input = (when: unknown) => NEW_SCHEDULE.safeParse({ ...NIGHTLY, when })
  for (const fields of ['', 'x', '* * * * * *', '60 * * * *', '0 0 30 2 *', '@reboot', '* '.repeat(500)])
    expect(input(cron(fields, 'UTC')).success, fields).toBe(false)
  for (const fields of ['@daily', '0 3 * * mon-fri', '*/5 * * * *', '0 3 L * *', '0 0 29 2 *'])
    expect(input(cron(fields, 'UTC')).success, fields).toBe(true)
  expect(input(cron('0 3 * * *', 'Mars/Olympus')).error?.issues[0]?.message).toContain('time zone')
  expect(input({ kind: 'every', minutes: 0 }).success).toBe(false)
  expect(input({ kind: 'at', time: 'tomorrow' }).success).toBe(false)
})

const NIGHTLY: NewSchedule = {
  name: 'Nightly check',
  project: '/code/shop',
  what: { kind: 'prompt', prompt: 'Look at the logs.' },
  when: cron('0 3 * * *', 'UTC'),
}
const ADDED = at('2026-06-01T12:00:00Z')

function newBook(): { book: ScheduleBook; home: string } {
  const home = mkdtempSync(path.join(tmpdir(), 'schedules-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  return { book: new ScheduleBook(home), home }
}

function added(fields: Partial<NewSchedule> = {}) {
  const { book, home } = newBook()
  const { id } = book.add({ ...NIGHTLY, ...fields }, ADDED).schedule
  const work = (time: string) => dueWork(book.get(id), at(time))
  /** Does what is due, as the server does. */
  const deal = (time: string) => {
    const found = work(time)
    if (found?.do === 'run') return { ...found, claimed: book.claim(id, found, { now: at(time) }) }
    if (found !== undefined) book.skip(id, found)
    return found
  }
  return { book, home, id, work, deal }
}

const DONE: RunReceipt = {
  outcome: 'done',
  exitCode: 0,
  words: '',
  sessions: [],
  loopId: null,
  harness: null,
  model: null,
  costUsd: null,
  costIsEstimate: false,
  tokens: 0,
  endedAt: '2026-06-02T03:10:00.000Z',
}

test('a time is claimed once, and the next one comes after it', () => {
  const { book, id, work, deal } = added()
  expect(work('2026-06-02T02:59:59Z')).toBeUndefined()
  expect(deal('2026-06-02T03:00:00Z')).toMatchObject({
    do: 'run',
    why: 'due',
    due: at('2026-06-02T03:00:00Z'),
  })
  // The same moment again, and another process with the same files.
  expect(work('2026-06-02T03:00:00Z')).toBeUndefined()
  expect(
    dueWork(new ScheduleBook(path.dirname(book.folder)).get(id), at('2026-06-02T03:00:01Z')),
  ).toBeUndefined()
  expect(nextTime(book.get(id))).toBe(at('2026-06-03T03:00:00Z'))
  const [run] = book.get(id).runs
  expect(run).toMatchObject({ why: 'due', sessionId: expect.any(String), receipt: null })
  book.end(id, run?.run ?? '', DONE)
  // A second end of the same run changes nothing.
  book.end(id, run?.run ?? '', { ...DONE, outcome: 'failed' })
  expect(book.get(id).runs).toMatchObject([{ receipt: { outcome: 'done' } }])
})

test('times that were missed are left out, or made up for once', () => {
  const three = '2026-06-05T12:00:00Z'
  expect(added().deal(three)).toMatchObject({ do: 'skip', why: 'missed', times: 4 })
  const { deal, work } = added({ missed: 'once' })
  expect(deal(three)).toMatchObject({ do: 'run', why: 'missed', due: at('2026-06-05T03:00:00Z') })
  expect(work(three)).toBeUndefined()
  // A little late is not missed.
  expect(added().work('2026-06-02T03:09:00Z')).toMatchObject({ do: 'run', why: 'due' })
  // A machine that slept for ten years is no work for minutes.
  expect(added({ when: cron('* * * * *', 'UTC') }).work('2036-06-05T12:00:00Z')).toMatchObject({ do: 'run' })
  const once = added({ when: { kind: 'at', time: '2026-06-02T03:00:00Z' } })
  once.deal('2026-06-02T03:00:00Z')
  expect(nextTime(once.book.get(once.id))).toBeNull()
})

test('one run at a time, unless more are allowed', () => {
  const { book, id, deal } = added()
  deal('2026-06-02T03:00:00Z')
  expect(() => book.ask(id)).toThrow('"Nightly check" runs.')
  expect(deal('2026-06-03T03:00:00Z')).toMatchObject({ do: 'skip', why: 'running', times: 1 })
  expect(book.get(id).skipped).toEqual({ due: '2026-06-03T03:00:00.000Z', times: 1, why: 'running' })
  book.end(id, book.get(id).runs[0]?.run ?? '', DONE)
  expect(deal('2026-06-04T03:00:00Z')).toMatchObject({ do: 'run' })

  const more = added({ overlap: 'allow', when: { kind: 'every', minutes: 60 } })
  expect([more.deal('2026-06-01T13:00:00Z')?.do, more.deal('2026-06-01T14:00:00Z')?.do]).toEqual([
    'run',
    'run',
  ])
})

test('a paused schedule misses nothing, runs when asked, and goes on at its next time', () => {
  const { book, id, work, deal } = added()
  book.pause(id)
  expect([work('2026-06-04T12:00:00Z'), nextTime(book.get(id))]).toEqual([undefined, null])
  book.ask(id)
  expect(deal('2026-06-04T12:00:00Z')).toMatchObject({ why: 'asked' })
  book.end(id, book.get(id).runs[0]?.run ?? '', DONE)
  book.resume(id, at('2026-06-05T12:00:00Z'))
  expect(work('2026-06-05T12:00:01Z')).toBeUndefined()
  expect(nextTime(book.get(id))).toBe(at('2026-06-06T03:00:00Z'))
})

test('its journal stands a torn line, other processes, links and foreign files', () => {
  const { book, home, id } = added()
  const other = new ScheduleBook(home)
  appendFileSync(path.join(book.folder, id, 'journal.ndjson'), '{"type":"schedule:paus')
  expect(book.get(id).isPaused).toBe(false)
  other.pause(id)
  expect([book.get(id).isPaused, other.get('Nightly check').isPaused]).toEqual([true, true])
  for (const name of ['no-journal', '.chirality', 'UPPER']) mkdirSync(path.join(book.folder, name))
  mkdirSync(path.join(book.folder, 'linked'))
  symlinkSync('/dev/zero', path.join(book.folder, 'linked', 'journal.ndjson'))
  mkdirSync(path.join(book.folder, 'edited'))
  const edited = { type: 'schedule:added', at: new Date(ADDED).toISOString(), schedule: { id: 'edited' } }
  appendFileSync(path.join(book.folder, 'edited', 'journal.ndjson'), `${JSON.stringify(edited)}\n`)
  expect(book.list().map(({ schedule }) => schedule.id)).toEqual([id])
  expect(() => book.get('../..')).toThrow('There is no schedule')
  expect(() => book.add({ ...NIGHTLY, when: { kind: 'at', time: '2020-01-01T00:00:00Z' } })).toThrow(
    'is over',
  )
  other.remove(id)
  expect(book.list()).toEqual([])
  const removed = path.join(book.folder, 'removed')
  expect(readdirSync(removed)).toEqual([id])
  // The journals of the last 50 removed schedules are kept.
  const long = new Date('2020-01-01T00:00:00Z')
  utimesSync(path.join(removed, id, 'journal.ndjson'), long, long)
  for (let n = 0; n < 50; n += 1) book.remove(book.add(NIGHTLY, ADDED).schedule.id)
  expect([readdirSync(removed).length, readdirSync(removed).includes(id)]).toEqual([50, false])
  expect(() => book.end(id, 'x', DONE)).not.toThrow()
})

test('odd lines in its journal, also of another version, are passed over', () => {
  const { book, home, id } = added()
  const now = new Date(ADDED).toISOString()
  const odd = [
    ...['null', '[[', '0', '{}', '"run:ended"', '{"type":"later:kind","at":"2099"}', '{"version":0}'],
    ...[
      { type: 'schedule:paused' },
      { type: 'schedule:removed', at: 'soon' },
      { type: 'run:claimed', at: now },
    ],
    ...[{ type: 'run:claimed', at: now, run: 'r', due: 'x', why: 'due', until: 'never' }],
    ...[
      { type: 'run:ended', at: now, run: 'r', receipt: null },
      { type: 'run:skipped', at: now, due: null },
    ],
    ...[
      { type: 'schedule:kept', at: now, upTo: 0, state: {} },
      { type: 'schedule:changed', at: now },
    ],
  ]
  const lines = odd.map(entry => `${typeof entry === 'string' ? entry : JSON.stringify(entry)}\n`)
  const before = new ScheduleBook(home).get(id)
  appendFileSync(path.join(book.folder, id, 'journal.ndjson'), lines.join(''))
  expect(new ScheduleBook(home).get(id)).toEqual(before)
  book.pause(id)
  expect(new ScheduleBook(home).list()).toMatchObject([
    { isPaused: true, runs: [], dealtWith: before.dealtWith },
  ])
})

test('a journal that has grown begins a new file, which says the same and loses nothing of another process', () => {
  const { book, home, id, deal } = added({ when: { kind: 'every', minutes: 60 } })
  const files = () => readdirSync(path.join(book.folder, id)).sort()
  const words = 'w'.repeat(30_000)
  let hour = ADDED
  const runs = (count: number) => {
    for (let n = 0; n < count; n += 1) {
      hour += HOUR
      deal(new Date(hour).toISOString())
      book.end(id, book.get(id).runs[0]?.run ?? '', { ...DONE, words, costUsd: 0.5 })
    }
  }
  runs(3)
  book.compact(raise)
  expect(files()).toEqual(['journal.ndjson'])
  runs(9)
  // It has read the first file, and then writes to it once more: it does not know of the second.
  const late = appendFileSync.bind(null, path.join(book.folder, id, 'journal.ndjson'))
  const before = structuredClone(book.get(id))
  book.compact(raise)
  expect(files()).toEqual(['journal-1.ndjson', 'journal.ndjson'])
  expect(book.get(id)).toEqual(before)
  expect(new ScheduleBook(home).get(id)).toEqual(before)
  late(`${JSON.stringify({ at: new Date(hour).toISOString(), type: 'schedule:paused' })}\n`)
  expect([book.get(id).isPaused, new ScheduleBook(home).get(id).isPaused]).toEqual([true, true])
  book.resume(id, hour)
  expect([book.get(id).isPaused, new ScheduleBook(home).get(id).isPaused]).toEqual([false, false])
  for (let round = 0; round < 5; round += 1) {
    runs(9)
    book.compact(raise)
  }
  expect(files()).toEqual(['journal-5.ndjson', 'journal-6.ndjson'])
  const state = new ScheduleBook(home).get(id)
  expect(state.runs).toHaveLength(50)
  expect(state.runs.every(({ receipt }) => receipt?.words === words)).toBe(true)
  expect(state.earlier).toEqual({ runs: 7, usd: 3.5 })
})

test('a journal that cannot be made shorter does not keep the others from it, and is used as it is', () => {
  const { book, id } = added()
  const other = book.add({ ...NIGHTLY, name: 'Another' }, ADDED).schedule.id
  const long = 'w'.repeat(300_000)
  for (const one of [id, other]) {
    const work = { do: 'run', due: ADDED, until: ADDED, why: 'asked' } as const
    const { run } = book.claim(one, work, { now: ADDED })
    book.end(one, run, { ...DONE, words: long })
  }
  // In the place of the file that a compaction makes first.
  mkdirSync(path.join(book.folder, id, `.${process.pid}.new`))
  const faults: unknown[] = []
  book.compact(error => faults.push(error))
  expect(faults).toHaveLength(1)
  expect(readdirSync(path.join(book.folder, other)).sort()).toEqual(['journal-1.ndjson', 'journal.ndjson'])
  expect(book.list().map(({ runs }) => runs[0]?.receipt?.words)).toEqual([long, long])
})

test('more runs are known than those whose worktrees are kept', () => {
  const { book, id, deal } = added({ when: { kind: 'every', minutes: 60 }, keepRuns: 50 })
  for (let n = 1; n <= 62; n += 1) {
    deal(new Date(ADDED + n * HOUR).toISOString())
    book.end(id, book.get(id).runs[0]?.run ?? '', DONE)
  }
  expect(book.get(id).runs).toHaveLength(60)
})

function raise(error: unknown): never {
  throw error
}

test('a change keeps the runs, begins new times now, and does not make a loop of a prompt', () => {
  const { book, home, id, deal, work } = added({ when: { kind: 'every', minutes: 60 } })
  deal('2026-06-01T13:00:00Z')
  const { project: _project, ...fields } = NIGHTLY
  const half = { ...fields, name: 'More often', when: { kind: 'every', minutes: 30 } } as const
  book.change(id, half, at('2026-06-01T13:40:00Z'))
  const changed = new ScheduleBook(home).get(id)
  expect(changed).toMatchObject({
    schedule: { id, name: 'More often', keepRuns: 10 },
    runs: [{ why: 'due' }],
  })
  expect(nextTime(changed)).toBe(at('2026-06-01T14:10:00Z'))
  expect(work('2026-06-01T14:00:00Z')).toBeUndefined()
  // Other words leave the times as they are.
  book.change(id, { ...half, name: 'Often' }, at('2026-06-01T14:00:00Z'))
  expect(nextTime(book.get(id))).toBe(at('2026-06-01T14:10:00Z'))
  const refused = (input: Partial<NewSchedule>) => () => book.change(id, { ...half, ...input })
  expect(refused({ what: { kind: 'loop', list: 'TASKS.md' } })).toThrow('runs a prompt')
  expect(refused({ when: { kind: 'at', time: '2020-01-01T00:00:00Z' } })).toThrow('is over')
  expect(book.get(id).schedule.name).toBe('Often')
})

test.each([
  ['0 3 * * *', 'every day at 03:00 (UTC)'],
  ['30 6 * * mon-fri', 'Monday to Friday at 06:30 (UTC)'],
  ['30 6,18 * * 1-5', 'Monday to Friday at 06:30 and 18:30 (UTC)'],
  ['0 9 * * 0', 'every Sunday at 09:00 (UTC)'],
  ['0 9 * * mon,wed,fri', 'Monday, Wednesday and Friday at 09:00 (UTC)'],
  ['*/15 * * * *', 'every 15 minutes (UTC)'],
  ['5 * * * *', 'every hour at :05 (UTC)'],
  ['0 */6 * * *', 'every 6 hours at :00 (UTC)'],
  ['0 0 1 * *', 'on day 1 of every month at 00:00 (UTC)'],
  ['@daily', 'every day at 00:00 (UTC)'],
  ['@weekly', 'every Sunday at 00:00 (UTC)'],
  // A step that does not fill the hour or the day is not "every".
  ['*/7 * * * *', 'cron */7 * * * * (UTC)'],
  ['0 */5 * * *', 'cron 0 */5 * * * (UTC)'],
  ['0 3 L * *', 'cron 0 3 L * * (UTC)'],
  ['0 3 13 * 5', 'cron 0 3 13 * 5 (UTC)'],
])('%s in words', (fields, words) => {
  expect(timesInWords(cron(fields, 'UTC'))).toBe(words)
})

test.each([
  [1, 'every minute'],
  [90, 'every 90 minutes'],
  [120, 'every 2 hours'],
  [1440, 'every day'],
  [2880, 'every 2 days'],
])('every %i minutes in words', (minutes, words) => {
  expect(timesInWords({ kind: 'every', minutes })).toBe(words)
  expect(timesInWords({ kind: 'at', time: '2030-01-01T00:00:00Z' })).toBe('once')
})
