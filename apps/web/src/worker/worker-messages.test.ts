import { expect, test } from 'vitest'
import { sessionIdOf, sessionToOpen } from './worker-messages.ts'

test('the session of a notification, and nothing of junk', () => {
  expect(sessionIdOf({ kind: 'ended', sessionId: 's' })).toBe('s')
  for (const junk of [null, undefined, 's', 1, {}, { sessionId: 1 }])
    expect(sessionIdOf(junk)).toBeUndefined()
})

test('only a message that says so opens a session', () => {
  expect(sessionToOpen({ type: 'open-session', sessionId: 's' })).toBe('s')
  for (const junk of [null, { sessionId: 's' }, { type: 'other', sessionId: 's' }, { type: 'open-session' }])
    expect(sessionToOpen(junk)).toBeUndefined()
})
