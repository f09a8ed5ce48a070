import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Pulse, pulseIntervalMs } from './pulse.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})

afterEach(() => {
  vi.useRealTimers()
})

test('all are called in the same beat, and those who left are not', () => {
  const pulse = new Pulse()
  const calls: string[] = []
  const a = () => void calls.push('a')
  const b = () => {
    calls.push('b')
    pulse.remove(c)
  }
  const c = () => void calls.push('c')
  for (const task of [a, b, c]) pulse.add(task)
  vi.advanceTimersByTime(pulseIntervalMs(0))
  expect(calls).toEqual(['a', 'b'])
  vi.advanceTimersByTime(pulseIntervalMs(0))
  expect(calls).toEqual(['a', 'b', 'a', 'b'])
})

test('the timer stops without tasks, and starts again with the next one', () => {
  const pulse = new Pulse()
  let calls = 0
  const task = () => {
    calls += 1
  }
  pulse.add(task)
  pulse.remove(task)
  expect(vi.getTimerCount()).toBe(0)
  pulse.add(task)
  vi.advanceTimersByTime(pulseIntervalMs(0))
  expect(calls).toBe(1)
})

test('many take turns: few at a time, and each as often as the others', () => {
  const pulse = new Pulse()
  const calls = new Map<number, number>()
  let inBeat = 0
  let most = 0
  for (let i = 0; i < 120; i += 1) {
    pulse.add(() => {
      calls.set(i, (calls.get(i) ?? 0) + 1)
      inBeat += 1
      most = Math.max(most, inBeat)
    })
  }
  for (let ms = 0; ms < 10 * pulseIntervalMs(0); ms += 1) {
    inBeat = 0
    vi.advanceTimersByTime(1)
  }
  expect(most).toBeLessThanOrEqual(25)
  expect(calls.size).toBe(120)
  expect(Math.max(...calls.values()) - Math.min(...calls.values())).toBeLessThanOrEqual(1)
  expect(Math.min(...calls.values())).toBeGreaterThanOrEqual(9)
})

test('the interval is six times what the last round took, between a frame and what a person does not see', () => {
  expect([0, 2, 5, 15, 200].map(pulseIntervalMs)).toEqual([16, 16, 30, 90, 100])
})
