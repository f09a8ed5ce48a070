import { afterEach, expect, test, vi } from 'vitest'
import { type Outlet, SendPace } from './send-pace.ts'

afterEach(() => {
  vi.useRealTimers()
})

class HeldOutlet implements Outlet {
  bytes = 0
  gaveUp = false
  #drained: () => void = () => {}

  buffered(): number {
    return this.bytes
  }

  onDrain(listener: () => void): void {
    this.#drained = listener
  }

  giveUp(): void {
    this.gaveUp = true
  }

  drain(): void {
    this.bytes = 0
    this.#drained()
  }
}

/** Whether `turn()` has resolved, without waiting for it. */
function watch(turn: Promise<boolean>): { result: boolean | undefined } {
  const seen: { result: boolean | undefined } = { result: undefined }
  void turn.then(result => {
    seen.result = result
  })
  return seen
}

function setUp() {
  vi.useFakeTimers()
  const outlet = new HeldOutlet()
  return { outlet, pace: new SendPace(outlet, { maxBufferedBytes: 100, stallMs: 1000 }) }
}

test('a ready batch is sent at once while the connection has room', async () => {
  const { pace } = setUp()
  expect(await pace.turn()).toBe(true)
  expect(await Promise.all([pace.turn(), pace.turn()])).toEqual([true, true])
})

test('no batch is sent while the client has not read', async () => {
  const { pace, outlet } = setUp()
  outlet.bytes = 101
  const waiting = watch(pace.turn())
  await vi.advanceTimersByTimeAsync(500)
  expect(waiting.result).toBeUndefined()
  outlet.drain()
  await vi.advanceTimersByTimeAsync(0)
  expect(waiting.result).toBe(true)
  expect(outlet.gaveUp).toBe(false)
})

test('a slow client is waited for; one that reads nothing is closed', async () => {
  const { pace, outlet } = setUp()
  outlet.bytes = 10_000
  const waiting = watch(pace.turn())
  for (let i = 0; i < 20; i += 1) {
    outlet.bytes -= 1
    await vi.advanceTimersByTimeAsync(500)
  }
  expect(waiting.result).toBeUndefined()
  expect(outlet.gaveUp).toBe(false)
  await vi.advanceTimersByTimeAsync(1500)
  expect(outlet.gaveUp).toBe(true)
  expect(waiting.result).toBe(false)
})

test('no sender waits once the connection is closed', async () => {
  const { pace, outlet } = setUp()
  outlet.bytes = 101
  const waiting = watch(pace.turn())
  pace.close()
  await vi.advanceTimersByTimeAsync(0)
  expect(waiting.result).toBe(false)
  expect(await pace.turn()).toBe(false)
})
