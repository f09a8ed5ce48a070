import { expect, test } from 'vitest'
import { aStatus } from '../../../test/support/statuses.ts'
import { FleetStore } from './fleet-store.ts'

test('what is stored does not put a session to rest that runs', () => {
  const fleet = new FleetStore()
  fleet.update([aStatus({ phase: 'running', lastSeq: 3 })])
  // The store knows a longer log, and nothing of phases.
  fleet.setStored([aStatus({ lastSeq: 9 })])
  expect(fleet.get('s1')).toMatchObject({ phase: 'running', lastSeq: 3 })
  const changes: (string | undefined)[] = []
  fleet.onChange((now, before) => changes.push(before?.phase, now.phase))
  fleet.update([aStatus({ lastSeq: 10 })])
  expect(changes).toEqual(['running', 'idle'])
})

test('what is stored brings a session that rests up to date', () => {
  const fleet = new FleetStore()
  fleet.setStored([aStatus({ lastSeq: 3 })])
  fleet.setStored([aStatus({ lastSeq: 9, title: 'Renamed' })])
  expect(fleet.get('s1')).toMatchObject({ lastSeq: 9, title: 'Renamed' })
})

test('a session that goes is told of once, whichever way it went', () => {
  const fleet = new FleetStore()
  const removed: string[] = []
  fleet.onRemove(sessionId => removed.push(sessionId))
  fleet.setStored([aStatus({ sessionId: 'a' }), aStatus({ sessionId: 'b' })])
  fleet.remove('a')
  fleet.remove('a')
  fleet.setStored([])
  expect(removed).toEqual(['a', 'b'])
})
