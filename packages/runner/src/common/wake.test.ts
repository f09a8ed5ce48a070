import { expect, test } from 'vitest'
import { Wake } from './wake.ts'

test('a notice wakes the waiter', async () => {
  const wake = new Wake()
  const waiting = wake.wait()
  wake.notify()
  await waiting
})

test('a notice before the wait is not lost, and counts once', async () => {
  const wake = new Wake()
  wake.notify()
  wake.notify()
  await wake.wait()
  let woken = false
  const second = wake.wait().then(() => {
    woken = true
  })
  await Promise.resolve()
  expect(woken).toBe(false)
  wake.notify()
  await second
})

test('the time limit ends the wait, and the next notice goes to the next waiter', async () => {
  const wake = new Wake()
  await wake.wait(1)
  const waiting = wake.wait()
  wake.notify()
  await waiting
})

test('a notice leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  const wake = new Wake()
  const waiting = wake.wait(600_000)
  expect(timers()).toBe(before + 1)
  wake.notify()
  await waiting
  expect(timers()).toBe(before)
})
