import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { unlessAborted } from './turn-stop.ts'

const never = new Promise<never>(() => {})

test('is what the promise is, and leaves no listener', async () => {
  const { signal } = new AbortController()
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('rejects when the signal comes, also before', async () => {
  const stopping = new AbortController()
  const waiting = unlessAborted(never, stopping.signal)
  stopping.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(unlessAborted(never, stopping.signal)).rejects.toThrow('enough')
})

test('a promise that fails after the abort causes no unhandled rejection', async () => {
  const stopping = new AbortController()
  let fail = (_: Error) => {}
  const failing = new Promise<never>((_, reject) => {
    fail = reject
  })
  const waiting = unlessAborted(failing, stopping.signal)
  stopping.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  // An unhandled rejection would end this process.
  fail(new Error('too late'))
  await new Promise(setImmediate)
})
