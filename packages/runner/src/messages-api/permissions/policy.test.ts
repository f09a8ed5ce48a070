import { expect, test } from 'vitest'
import { GrantsOfSessions } from './policy.ts'

test('a session in use keeps its grants; of a thousand others the oldest is forgotten', () => {
  const memory = new GrantsOfSessions()
  const call = ['bash', { command: 'ls' }] as const
  memory.of('old').add(...call)
  memory.of('used').add(...call)
  for (let index = 0; index < 2000; index += 1) {
    memory.of(`other ${index}`)
    expect(memory.of('used').has(...call)).toBe(true)
  }
  expect(memory.of('old').has(...call)).toBe(false)
  memory.clear()
  expect(memory.of('used').has(...call)).toBe(false)
})
