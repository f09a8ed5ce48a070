import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { anySignal } from './any-signal.ts'

test('a timeout among the signals fires, also when garbage is collected before', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const other = new AbortController()
  const waiting = () => once(anySignal([other.signal, AbortSignal.timeout(200)]), 'abort')
  const fired = waiting()
  // A timeout keeps no process alive, so the test does.
  const alive = setInterval(() => {}, 1000)
  for (let i = 0; i < 3; i += 1) {
    await setImmediate()
    collectGarbage()
  }
  const [event] = await fired
  clearInterval(alive)
  expect(event.target.reason).toMatchObject({ name: 'TimeoutError' })
})
