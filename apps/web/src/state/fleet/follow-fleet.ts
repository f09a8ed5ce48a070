import type { FleetEvent, LiveClient } from '@chirality/client'
import { takeReadMarks } from '../kept/seen.ts'
import type { FleetStore } from './fleet-store.ts'
import { storedSessions } from './stored-sessions.ts'

/** A phone that lies beside the desk need not know at once what was read there. */
const READ_MARKS_MS = 20_000

/** Reads the stored sessions once and after each lost connection, and follows their changes. */
export function followFleet(live: LiveClient, fleet: FleetStore): () => void {
  const { calls } = live
  const load = () => {
    void readMarks()
    return storedSessions(calls).then(
      stored => fleet.setStored(stored),
      () => undefined,
    )
  }
  const readMarks = () => calls.sessions.readMarks.query().then(takeReadMarks, () => undefined)
  const refresh = setInterval(() => {
    if (!document.hidden) void readMarks()
  }, READ_MARKS_MS)
  const subscription = calls.fleet.events.subscribe(undefined, { onData: event => take(event, fleet) })
  const stopConnection = live.watchConnection(state => {
    if (state === 'connected') void load()
  })
  const onVisible = () => {
    if (!document.hidden) void load()
  }
  document.addEventListener('visibilitychange', onVisible)
  return () => {
    clearInterval(refresh)
    subscription.unsubscribe()
    stopConnection()
    document.removeEventListener('visibilitychange', onVisible)
  }
}

function take(event: FleetEvent, fleet: FleetStore): void {
  if (event.type === 'loops') return fleet.setLoops(event.loops)
  // The server does not repeat changes of schedules that were made while there was no connection.
  if (event.type !== 'changes') fleet.noteSchedules()
  if (event.type === 'schedules') return
  fleet.update(event.sessions)
  if (event.type === 'changes') for (const id of event.removed) fleet.remove(id)
}
