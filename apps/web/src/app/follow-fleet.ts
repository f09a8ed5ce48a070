import type { FleetStore } from '../state/fleet-store.ts'
import type { ServerApi } from '../state/server-api.ts'

/** What is stored once, what changes as it changes, and what is stored again after each time without a connection. */
export function followFleet(api: ServerApi, fleet: FleetStore): () => void {
  const load = () =>
    api.sessions().then(
      stored => fleet.setStored(stored),
      () => undefined,
    )
  const stopWatching = api.watchFleet({
    onStatuses: statuses => fleet.update(statuses),
    onRemoved: ids => {
      for (const id of ids) fleet.remove(id)
    },
  })
  const stopConnection = api.watchConnection(state => {
    if (state === 'connected') void load()
  })
  const onVisible = () => {
    if (!document.hidden) void load()
  }
  document.addEventListener('visibilitychange', onVisible)
  return () => {
    stopWatching()
    stopConnection()
    document.removeEventListener('visibilitychange', onVisible)
  }
}
