import { expect, test } from 'vitest'
import { aStatus } from '../../test/support/statuses.ts'
import { news } from './notify.ts'

const request = {
  type: 'permission:request',
  sessionId: 's1',
  requestId: 'r',
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'npm test' },
  raw: null,
} as const

const running = aStatus({ phase: 'running' })
const waiting = aStatus({ phase: 'waiting', pending: [request] })

test('a new request and the end of a turn are news', () => {
  expect(news(waiting, running)).toBe('wants to run npm test')
  expect(news(aStatus({ lastTurn: 'completed' }), running)).toBe('is done')
  expect(news(aStatus({ lastTurn: 'failed' }), running)).toBe('ended: failed')
})

test('nothing else is', () => {
  expect(news(waiting, waiting)).toBeUndefined()
  expect(news(running, waiting)).toBeUndefined()
  expect(news(waiting, undefined)).toBeUndefined()
  expect(news(aStatus({ queue: [{ id: 'q', message: 'next' }] }), running)).toBeUndefined()
})
