import { expect, onTestFinished, test, vi } from 'vitest'
import { AwakeSessions, type ShippableSession } from './awake-sessions.ts'

function host() {
  const statuses = new Map<string, ShippableSession>()
  const listeners = new Set<(status: ShippableSession) => void>()
  const put = (sessionId: string, fields: Partial<ShippableSession> = {}) => {
    const status: ShippableSession = { sessionId, projectRoot: '/p', phase: 'idle', lastSeq: 1, ...fields }
    statuses.set(sessionId, status)
    return status
  }
  let looks = 0
  return {
    put,
    tell: (...[sessionId, fields]: Parameters<typeof put>) => {
      const status = put(sessionId, fields)
      for (const listener of listeners) listener(status)
    },
    remove: (sessionId: string) => void statuses.delete(sessionId),
    listeners,
    looks: () => looks,
    sessions: {
      statuses: () => [...statuses.values()],
      openSession: (id: string) => {
        looks += 1
        const status = statuses.get(id)
        return status && { status }
      },
      onStatus: (listener: (status: ShippableSession) => void) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
  }
}

test('a session rests when it is idle and has said nothing for a while, and is awake with its next event', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { sessions, put, tell, remove, listeners, looks } = host()
  for (let i = 0; i < 200; i += 1) put(`old-${i}`)
  put('works', { phase: 'running' })
  let woken = 0
  const awake = new AwakeSessions(sessions, () => {
    woken += 1
  })
  const after = (ms: number) => {
    vi.advanceTimersByTime(ms)
    return awake.list().map(({ sessionId }) => sessionId)
  }
  expect(after(1_000)).toHaveLength(201)
  expect(after(1_001)).toEqual(['works'])
  expect(after(60_000)).toEqual(['works'])
  // A session at rest is not looked at.
  const before = looks()
  after(100)
  expect(looks() - before).toBe(1)

  expect(woken).toBe(0)
  tell('old-0', { lastSeq: 2 })
  expect(woken).toBe(1)
  expect(after(500).sort()).toEqual(['old-0', 'works'])
  // Its file may get the event after its number was told, and an event may come without being told.
  put('old-0', { lastSeq: 3 })
  expect(after(1_000).sort()).toEqual(['old-0', 'works'])
  expect(after(1_900).sort()).toEqual(['old-0', 'works'])
  expect(after(200)).toEqual(['works'])

  // A turn that ended is looked at for a while, too; a session that was closed is not.
  put('works')
  expect(after(1_900)).toEqual(['works'])
  expect(after(200)).toEqual([])
  tell('works', { phase: 'running' })
  remove('works')
  expect(after(100)).toEqual([])

  awake.close()
  expect(listeners.size).toBe(0)
})
