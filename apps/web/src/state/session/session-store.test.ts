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

test('the tail of a long log is shown until the whole has caught up', () => {
  const store = new SessionStore('s', run => run())
  store.preview(EVENTS.slice(3))
  expect(store.get().state.seq).toBe(6)
  expect(store.lastSeq).toBe(0)
  store.push(EVENTS.slice(0, 3))
  expect(store.get().state.seq).toBe(6)
  store.push(EVENTS.slice(3))
  expect(store.get().state.items[0]).toMatchObject({ kind: 'user', text: 'go' })
})
