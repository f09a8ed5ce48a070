import { takeReadMarks } from '../kept/seen.ts'
import type { ServerApi } from '../server/server-api.ts'
import type { FleetStore } from './fleet-store.ts'

/** A phone that lies beside the desk need not know at once what was read there. */
const READ_MARKS_MS = 20_000

/** What is stored once, what changes as it changes, and what is stored again after each time without a connection. */
export function followFleet(api: ServerApi, fleet: FleetStore): () => void {
  const load = () => {
    void readMarks()
    return api.sessions().then(
      stored => fleet.setStored(stored),
      () => undefined,
    )
  }
  const readMarks = () => api.readMarks().then(takeReadMarks, () => undefined)
  const refresh = setInterval(() => {
    if (!document.hidden) void readMarks()
  }, READ_MARKS_MS)
  const stopWatching = api.watchFleet({
    onStatuses: statuses => fleet.update(statuses),
    onRemoved: ids => {
      for (const id of ids) fleet.remove(id)
    },
    onLoops: loops => fleet.setLoops(loops),
    onSchedules: () => fleet.noteSchedules(),
  })
  const stopConnection = api.watchConnection(state => {
    if (state === 'connected') void load()
  })
  const onVisible = () => {
    if (!document.hidden) void load()
  }
  document.addEventListener('visibilitychange', onVisible)
  return () => {
    clearInterval(refresh)
    stopWatching()
    stopConnection()
    document.removeEventListener('visibilitychange', onVisible)
  }
}
