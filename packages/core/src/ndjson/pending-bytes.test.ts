import { expect, test } from 'vitest'
import { PendingBytes } from './line-framer.ts'

test('growing copies each byte a bounded number of times, however small the parts', () => {
  const pending = new PendingBytes()
  const part = new Uint8Array(100)
  const total = 10_000_000
  let copied = 0
  let memory = pending.view()
  while (pending.length < total) {
    const before = pending.length
    pending.append(part)
    copied += part.length
    if (pending.view() !== memory) copied += before
    memory = pending.view()
  }
  expect(copied).toBeLessThan(3 * total)
})

test('a usual line leaves its memory to the next one, a huge line does not', () => {
  const pending = new PendingBytes()
  pending.append(new Uint8Array(50_000))
  const usual = pending.view()
  pending.clear()
  expect(pending.length).toBe(0)
  expect(pending.view()).toBe(usual)
  pending.append(new Uint8Array(5_000_000))
  pending.clear()
  expect(pending.view().length).toBe(0)
})
