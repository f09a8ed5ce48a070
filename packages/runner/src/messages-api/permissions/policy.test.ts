import { expect, test } from 'vitest'
import { SessionMemory } from './policy.ts'

test('a session that is used is remembered; of a thousand others the oldest is forgotten', () => {
  const memory = new SessionMemory()
  memory.of('old').mode = 'plan'
  memory.of('used').mode = 'plan'
  memory.of('used').grants.add('bash', { command: 'ls' })
  for (let index = 0; index < 2000; index += 1) {
    memory.of(`other ${index}`).mode = 'acceptEdits'
    expect(memory.of('used').mode).toBe('plan')
  }
  expect(memory.of('used').grants.has('bash', { command: 'ls' })).toBe(true)
  expect(memory.of('old').mode).toBeUndefined()
  memory.clear()
  expect(memory.of('used').grants.has('bash', { command: 'ls' })).toBe(false)
})
