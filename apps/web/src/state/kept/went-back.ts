import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'
import { BoundedMap } from './bounded-map.ts'

/** How a session came from another by going back, so that this can be undone. */
export interface WayBack {
  from: string
  /** Null if no file had to change. */
  moveId: string | null
  prompt: string
}

const MAX_SESSIONS = 50
const stored = new BoundedMap<WayBack>('chirality-went-back', MAX_SESSIONS)
const listeners = new Listeners()

export function useWayBack(sessionId: string): WayBack | undefined {
  return useSyncExternalStore(listeners.subscribe, () => stored.get(sessionId))
}

export function saveWayBack(sessionId: string, way: WayBack | null): void {
  if (way === null) stored.delete(sessionId)
  else stored.set(sessionId, way)
  listeners.tell()
}
