import { type ClaudeEvent, parseClaudeEvent } from '@chirality/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Rest } from './rest.ts'

const LINGER_MS = 1000
const onLinger = vi.fn()

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  onLinger.mockReset()
})

const event = (fields: Record<string, unknown>): ClaudeEvent => parseClaudeEvent(fields)
const system = (subtype: string, fields = {}) => event({ type: 'system', subtype, ...fields })
const RESULT = event({ type: 'result', is_error: false })
const INIT = system('init')

function after(...events: ClaudeEvent[]): Rest {
  const rest = new Rest({ lingerMs: LINGER_MS, onLinger })
  for (const seen of events) rest.see(seen)
  return rest
}

test('an agent at work does not rest', () => {
  const rest = after(INIT, event({ type: 'assistant' }))
  vi.advanceTimersByTime(LINGER_MS * 10)
  expect([rest.answered, rest.reached]).toEqual([false, false])
  expect(onLinger).not.toHaveBeenCalled()
})

test('with a result it rests, and lingers when nothing follows', () => {
  const rest = after(INIT, RESULT)
  expect([rest.answered, rest.reached]).toEqual([true, true])
  vi.advanceTimersByTime(LINGER_MS - 1)
  expect(onLinger).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(onLinger).toHaveBeenCalledOnce()
})

test('any further output restarts the wait', () => {
  const rest = after(INIT, RESULT)
  vi.advanceTimersByTime(LINGER_MS - 1)
  rest.see(event({ type: 'prompt_suggestion' }))
  vi.advanceTimersByTime(LINGER_MS - 1)
  expect(onLinger).not.toHaveBeenCalled()
})

test('a new turn in the same process ends the rest', () => {
  const rest = after(INIT, RESULT, INIT)
  vi.advanceTimersByTime(LINGER_MS * 10)
  expect([rest.answered, rest.reached]).toEqual([false, false])
  expect(onLinger).not.toHaveBeenCalled()
})

test.each([
  { how: 'a notification', end: system('task_notification', { task_id: 't1' }) },
  { how: 'an update', end: system('task_updated', { task_id: 't1', patch: { status: 'killed' } }) },
  { how: 'a new list', end: system('background_tasks_changed', { tasks: [] }) },
])('a background task holds the rest up until $how ends it', ({ end }) => {
  const rest = after(INIT, system('task_started', { task_id: 't1' }), RESULT)
  vi.advanceTimersByTime(LINGER_MS * 10)
  expect([rest.answered, rest.reached]).toEqual([true, false])
  rest.see(system('task_updated', { task_id: 't1', patch: { status: 'running' } }))
  expect(rest.reached).toBe(false)
  rest.see(end)
  expect(rest.reached).toBe(true)
  vi.advanceTimersByTime(LINGER_MS)
  expect(onLinger).toHaveBeenCalledOnce()
})

test('a list of tasks counts as it is, whatever else is in it', () => {
  const tasks = [{ task_id: 'a' }, null, { name: 'no id' }, { task_id: 'b' }]
  const rest = after(INIT, RESULT, system('background_tasks_changed', { tasks }))
  expect(rest.reached).toBe(false)
  rest.see(system('task_notification', { task_id: 'a' }))
  expect(rest.reached).toBe(false)
  rest.see(system('background_tasks_changed', { tasks: 'nonsense' }))
  expect(rest.reached).toBe(true)
})

test('no linger is reported after the process has exited', () => {
  after(INIT, RESULT).end()
  vi.advanceTimersByTime(LINGER_MS * 10)
  expect(onLinger).not.toHaveBeenCalled()
})
