import type { Envelope, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { SessionStore } from './session-store.ts'

type Loose = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

const log = (events: Loose[]): Envelope[] =>
  events.map((event, i) => ({
    seq: i + 1,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
    sessionId: 's',
    turnId: 't',
    event: { sessionId: 's', ...event } as UIEvent,
  }))

const EVENTS = log([
  { type: 'turn:start', message: 'go' },
  { type: 'chat:delta', messageId: 'm', text: 'Hel' },
  { type: 'chat:delta', messageId: 'm', text: 'lo' },
  {
    type: 'status',
    status: 'tool_progress',
    level: 'info',
    message: '',
    toolUseId: 'u',
    data: { output: 'out' },
  },
  { type: 'turn:end', reason: 'completed' },
  { type: 'process:exit', code: 0, signal: null, leftRunning: 0 },
])

/** Frames that a test lets pass by hand. */
function frames() {
  const waiting: (() => void)[] = []
  return {
    schedule: (run: () => void) => waiting.push(run),
    pass: () => waiting.splice(0).forEach(run => void run()),
  }
}

test('however many batches come in a frame, listeners hear of them once', () => {
  const { schedule, pass } = frames()
  const store = new SessionStore('s', schedule)
  let heard = 0
  store.subscribe(() => heard++)
  for (const envelope of EVENTS.slice(0, 3)) store.push([envelope])
  expect(heard).toBe(0)
  expect(store.lastSeq).toBe(3)
  pass()
  expect(heard).toBe(1)
  expect(store.get().state.live.m).toBe('Hello')
})

test('a log that comes all at once is folded in over some frames, in its order', () => {
  const { schedule, pass } = frames()
  const store = new SessionStore('s', schedule)
  const start: Loose = { type: 'turn:start', message: 'go' }
  const piece: Loose = { type: 'chat:delta', messageId: 'm', text: 'x' }
  store.push(log([start, ...Array.from({ length: 9_999 }, () => piece)]))
  pass()
  expect(store.get().state.seq).toBeLessThan(10_000)
  expect(store.lastSeq).toBe(10_000)
  for (let i = 0; i < 10; i++) pass()
  expect(store.get().state.live.m).toBe('x'.repeat(9_999))
})

test('what was seen before changes nothing, also in what the panes keep beside the state', () => {
  const store = new SessionStore('s', run => run())
  store.push(EVENTS.slice(0, 4))
  store.push(EVENTS.slice(0, 4))
  expect(store.get().extras.output).toEqual({ u: 'out' })
})

test('the end of a turn says how many processes are left, and where a fork begins', () => {
  const store = new SessionStore('s', run => run())
  store.push(EVENTS)
  expect(store.get().extras.exit).toMatchObject({ leftRunning: 0, code: 0 })
  expect(store.get().extras.turnEnds).toEqual({ t: 5 })
})

test('of a long log the end is shown, and what happens then is added to it', () => {
  const store = new SessionStore('s', run => run())
  store.startAtEnd(EVENTS.slice(3, 4))
  expect(store.get()).toMatchObject({ whole: false, state: { seq: 4 } })
  expect([store.firstSeq, store.lastSeq]).toEqual([4, 4])
  store.push(EVENTS.slice(4))
  expect(store.get()).toMatchObject({ whole: false, state: { seq: 6 } })
})

test('pages before the end are folded in before it, and the first makes it whole', async () => {
  const store = new SessionStore('s', run => run())
  store.startAtEnd(EVENTS.slice(4))
  await store.prepend(EVENTS.slice(2, 4))
  expect(store.get()).toMatchObject({ whole: false, state: { seq: 6 } })
  expect(store.firstSeq).toBe(3)
  await store.prepend(EVENTS.slice(0, 2))
  const all = new SessionStore('s', run => run())
  all.push(EVENTS)
  expect(store.get()).toEqual(all.get())
  // It goes on as any other from there.
  store.push(log([{ type: 'turn:start', message: 'again' }]).map(envelope => ({ ...envelope, seq: 7 })))
  expect(store.get()).toMatchObject({ whole: true, state: { seq: 7 } })
})

test('a page before a long end is folded in without holding up the page, with what happens meanwhile', async () => {
  const piece: Loose = { type: 'chat:delta', messageId: 'm', text: 'x' }
  const events = log([{ type: 'turn:start', message: 'go' }, ...Array.from({ length: 60_000 }, () => piece)])
  const store = new SessionStore('s', run => run())
  store.startAtEnd(events.slice(100, -1))
  const folding = store.prepend(events.slice(50, 100))
  expect(store.firstSeq).toBe(101)
  store.push(events.slice(-1))
  await folding
  expect(store.firstSeq).toBe(51)
  expect(store.get()).toMatchObject({ whole: false, state: { seq: 60_001 } })
  expect(store.get().state.live.m).toHaveLength(events.length - 50)
})

test('the end of a log that is loaded whole is shown until the whole has caught up', () => {
  const store = new SessionStore('s', run => run())
  store.startAtEnd(EVENTS.slice(3))
  store.restart()
  expect(store.lastSeq).toBe(0)
  store.push(EVENTS.slice(0, 3))
  expect(store.get()).toMatchObject({ whole: false, state: { seq: 6 } })
  store.push(EVENTS.slice(3))
  expect(store.get().state.items[0]).toMatchObject({ kind: 'user', text: 'go' })
  expect(store.get().whole).toBe(true)
})

test('a pane asks for more only while something is missing', () => {
  const store = new SessionStore('s', run => run())
  const wanted: string[] = []
  store.onWanted = what => wanted.push(what)
  store.want('whole')
  store.startAtEnd(EVENTS.slice(3))
  store.want('page')
  expect(wanted).toEqual(['page'])
})
