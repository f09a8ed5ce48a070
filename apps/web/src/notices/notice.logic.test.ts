import { expect, test } from 'vitest'
import { aStatus } from '../../test/support/statuses.ts'
import { isOver, mayEndNotice, noticeOf, subjectOf } from './notice.logic.ts'

const request = {
  type: 'permission:request',
  sessionId: 's1',
  requestId: 'r',
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'npm test' },
  raw: null,
} as const
const second = { ...request, requestId: 'r2', input: { command: 'npm run build' } } as const

const running = aStatus({ phase: 'running' })
const waiting = aStatus({ phase: 'waiting', pending: [request] })
const title = 'Fix CRLF handling'

test('a new request and the end of a turn are news', () => {
  const asks = { kind: 'asks', sessionId: 's1', title }
  expect(noticeOf(waiting, running)).toEqual({ ...asks, requestId: 'r', body: 'wants to run npm test' })
  expect(noticeOf(aStatus({ phase: 'waiting', pending: [request, second] }), waiting)).toEqual({
    ...asks,
    ...{ requestId: 'r2', body: 'wants to run npm run build' },
  })
  const ended = { kind: 'ended', sessionId: 's1', title }
  expect(noticeOf(aStatus({ lastTurn: 'completed' }), running)).toEqual({ ...ended, body: 'is done' })
  expect(noticeOf(aStatus({ lastTurn: 'failed' }), running)).toEqual({ ...ended, body: 'ended: failed' })
  expect(noticeOf(aStatus(), running)).toEqual({ ...ended, body: 'ended: stopped' })
})

test('nothing else is', () => {
  expect(noticeOf(waiting, waiting)).toBeUndefined()
  expect(noticeOf(running, waiting)).toBeUndefined()
  expect(noticeOf(waiting, undefined)).toBeUndefined()
  expect(noticeOf(aStatus({ queue: [{ id: 'q', message: 'next' }] }), running)).toBeUndefined()
})

test('a command of any length fits', () => {
  const long = { ...request, input: { command: 'x'.repeat(100_000) } }
  const notice = noticeOf(aStatus({ phase: 'waiting', pending: [long] }), running)
  expect(notice?.body.length).toBeLessThanOrEqual(201)
})

test('a request is over when it is no longer open, an end when the session works again, both when it is gone', () => {
  const asks = { kind: 'asks', sessionId: 's1', requestId: 'r' } as const
  const ended = { kind: 'ended', sessionId: 's1' } as const
  expect(isOver(asks, waiting)).toBe(false)
  expect(isOver(asks, aStatus({ phase: 'waiting', pending: [second] }))).toBe(true)
  expect(isOver(asks, running)).toBe(true)
  expect(isOver(ended, aStatus())).toBe(false)
  expect(isOver(ended, running)).toBe(true)
  expect(isOver(asks, undefined)).toBe(true)
  expect(isOver(ended, undefined)).toBe(true)
})

test('only some changes can end a notice', () => {
  expect(mayEndNotice(running, waiting)).toBe(true)
  expect(mayEndNotice(running, aStatus())).toBe(true)
  expect(mayEndNotice(running, running)).toBe(false)
  expect(mayEndNotice(waiting, running)).toBe(false)
  expect(mayEndNotice(aStatus(), running)).toBe(false)
  expect(mayEndNotice(running, undefined)).toBe(false)
})

test('what a notification keeps is read with care', () => {
  expect(subjectOf({ kind: 'asks', sessionId: 's', requestId: 'r', more: 1 })).toEqual({
    ...{ kind: 'asks', sessionId: 's', requestId: 'r' },
  })
  expect(subjectOf({ kind: 'ended', sessionId: 's' })).toEqual({ kind: 'ended', sessionId: 's' })
  for (const junk of [
    null,
    undefined,
    's',
    {},
    { kind: 'asks', sessionId: 's' },
    { kind: 'ended' },
    { kind: 'x' },
  ])
    expect(subjectOf(junk)).toBeUndefined()
})
