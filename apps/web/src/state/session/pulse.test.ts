import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AFTER_EVENT_MS, Pulse, WHILE_RUNNING_MS } from './pulse.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function pulse({ isRunning = false } = {}) {
  const state = { reads: 0, isRunning, finish: () => {} }
  const made = new Pulse({
    read: () => {
      state.reads += 1
      return new Promise<void>(resolve => {
        state.finish = resolve
      })
    },
    isRunning: () => state.isRunning,
  })
  const finish = async () => {
    state.finish()
    await vi.advanceTimersByTimeAsync(0)
  }
  return { state, made, finish }
}

test('it reads at once, and then only when it is woken', async () => {
  const { state, made, finish } = pulse()
  await vi.advanceTimersByTimeAsync(0)
  await finish()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(state.reads).toBe(1)
  made.wake()
  await vi.advanceTimersByTimeAsync(AFTER_EVENT_MS)
  expect(state.reads).toBe(2)
})

test('a stream of events does not put the read off', async () => {
  const { state, made, finish } = pulse()
  await vi.advanceTimersByTimeAsync(0)
  await finish()
  for (let ms = 0; ms < AFTER_EVENT_MS; ms += 10) {
    made.wake()
    await vi.advanceTimersByTimeAsync(10)
  }
  expect(state.reads).toBe(2)
})

test('what happens while it reads is read after it', async () => {
  const { state, made, finish } = pulse()
  await vi.advanceTimersByTimeAsync(0)
  made.wake()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(state.reads).toBe(1)
  await finish()
  await vi.advanceTimersByTimeAsync(AFTER_EVENT_MS)
  expect(state.reads).toBe(2)
})

test('while a turn runs it reads now and then, sooner when it is woken, and no more when it is stopped', async () => {
  const { state, made, finish } = pulse({ isRunning: true })
  await vi.advanceTimersByTimeAsync(0)
  await finish()
  await vi.advanceTimersByTimeAsync(WHILE_RUNNING_MS)
  expect(state.reads).toBe(2)
  await finish()
  made.wake()
  await vi.advanceTimersByTimeAsync(AFTER_EVENT_MS)
  expect(state.reads).toBe(3)
  made.stop()
  await finish()
  made.wake()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(state.reads).toBe(3)
})

test('nothing is read while nobody sees it, and what was put off is read when somebody does', async () => {
  const seen = { now: false, reads: 0 }
  const made = new Pulse({
    read: async () => {
      seen.reads += 1
    },
    isSeen: () => seen.now,
    atOnce: false,
  })
  for (let i = 0; i < 5; i++) {
    made.wake()
    await vi.advanceTimersByTimeAsync(AFTER_EVENT_MS)
  }
  expect(seen.reads).toBe(0)
  seen.now = true
  made.see()
  await vi.advanceTimersByTimeAsync(0)
  expect(seen.reads).toBe(1)
  made.see()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(seen.reads).toBe(1)
})

test('a read that fails does not end it', async () => {
  let reads = 0
  const made = new Pulse({ read: () => Promise.reject(new Error(`no ${++reads}`)) })
  await vi.advanceTimersByTimeAsync(0)
  made.wake()
  await vi.advanceTimersByTimeAsync(AFTER_EVENT_MS)
  expect(reads).toBe(2)
})
