import { expect, test } from 'vitest'
import { RestingSessions, type ShippableSession } from './resting-sessions.ts'

const session = (sessionId: string, fields: Partial<ShippableSession> = {}): ShippableSession => ({
  sessionId,
  projectRoot: '/p',
  phase: 'idle',
  lastSeq: 1,
  ...fields,
})

test('a session rests when it is idle and has said nothing for a while, and is awake with its next event', () => {
  const resting = new RestingSessions()
  const awake = (now: number, ...open: ShippableSession[]) =>
    resting.awake(open, now).map(({ sessionId }) => sessionId)
  const old = Array.from({ length: 200 }, (_, i) => session(`old-${i}`))
  const works = session('works', { phase: 'running' })
  expect(awake(0, works, ...old)).toHaveLength(201)
  expect(awake(1_000, works, ...old)).toHaveLength(201)
  expect(awake(2_001, works, ...old)).toEqual(['works'])
  expect(awake(9_000, works, ...old)).toEqual(['works'])
  // Its file may get the event after its number was told.
  const spoke = session('old-0', { lastSeq: 2 })
  expect(awake(9_100, spoke, ...old.slice(1))).toEqual(['old-0'])
  expect(awake(11_000, spoke)).toEqual(['old-0'])
  expect(awake(11_200, spoke)).toEqual([])
  // A turn that ended is looked at for a while, too, and so is one that was closed and opened again.
  expect(awake(20_000, works)).toEqual(['works'])
  expect(awake(21_000, session('works'))).toEqual(['works'])
  expect(awake(24_000, session('works'))).toEqual([])
  expect(awake(24_100)).toEqual([])
  expect(awake(24_200, session('works'))).toEqual(['works'])
})
