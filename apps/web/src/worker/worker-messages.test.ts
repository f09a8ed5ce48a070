import { expect, test } from 'vitest'
import { addressOf, pushMessageOf, subjectOf, subjectToOpen } from './worker-messages.ts'

test('the page that a notification is about, and nothing of junk', () => {
  const page = (data: unknown) => {
    const subject = subjectOf(data)
    return subject && addressOf(subject)
  }
  expect(page({ kind: 'ended', sessionId: 's' })).toBe('/s/s')
  expect(page({ kind: 'loop', loopId: 'a/b' })).toBe('/loops/a%2Fb')
  expect(page({ kind: 'schedule', scheduleId: 'x' })).toBe('/schedules')
  for (const junk of [null, undefined, 's', 1, {}, { sessionId: 1 }, { loopId: '' }])
    expect(subjectOf(junk)).toBeUndefined()
})

test('only a message that says so opens something', () => {
  expect(subjectToOpen({ type: 'open-session', sessionId: 's' })).toEqual({ kind: 'session', id: 's' })
  for (const junk of [null, { sessionId: 's' }, { type: 'other', sessionId: 's' }, { type: 'open-session' }])
    expect(subjectToOpen(junk)).toBeUndefined()
})

test('a push message takes the place of what its session showed, and a broken one still shows a word', () => {
  const message = { kind: 'asks', sessionId: 's1', requestId: 'r1', title: 'Fix it', body: 'needs an answer' }
  expect(pushMessageOf(JSON.stringify(message))).toMatchObject({
    title: 'Fix it',
    options: { body: 'needs an answer', tag: 's1', data: { kind: 'asks', sessionId: 's1', requestId: 'r1' } },
  })
  const renotify = (data: unknown) =>
    (pushMessageOf(JSON.stringify(message), [{ data }]).options as { renotify?: boolean }).renotify
  expect(renotify({ kind: 'asks', sessionId: 's1', requestId: 'r1' })).toBe(false)
  for (const other of [
    { kind: 'asks', sessionId: 's1', requestId: 'r2' },
    { kind: 'ended', sessionId: 's1' },
    null,
  ])
    expect(renotify(other)).toBe(true)
  for (const broken of ['', 'junk', 'null', '[]', '{"title":1,"body":""}']) {
    const shown = pushMessageOf(broken)
    expect([shown.title, shown.options.body, shown.options.tag]).toEqual([
      ...['Chirality', 'A session needs you', undefined],
    ])
  }
})
