import { createContext, use, useSyncExternalStore } from 'react'
import type { LoopSummary, LoopTaskState, SessionStatus } from '../server/answers.ts'
import type { FleetStore } from './fleet-store.ts'

export const FleetContext = createContext<FleetStore | null>(null)

export function useFleetStore(): FleetStore {
  const store = use(FleetContext)
  if (!store) throw new Error('useFleet is only for what is inside a FleetContext')
  return store
}

export function useFleet(): readonly SessionStatus[] {
  const store = useFleetStore()
  return useSyncExternalStore(store.subscribe, store.list)
}

/** Tasks of loops that need a person and have no session in the list. */
export function useParked(): readonly LoopTaskState[] {
  const store = useFleetStore()
  return useSyncExternalStore(store.subscribe, store.parked)
}

/** Newest first. */
export function useLoops(): readonly LoopSummary[] {
  const store = useFleetStore()
  return useSyncExternalStore(store.subscribe, store.loops)
}

/** Whether the server has told which loops there are. */
export function useLoopsKnown(): boolean {
  const store = useFleetStore()
  return useSyncExternalStore(store.subscribe, store.knowsLoops)
}

/** Grows when the schedules may have changed. */
export function useScheduleChanges(): number {
  const store = useFleetStore()
  return useSyncExternalStore(store.subscribe, store.schedules)
}

export function useFleetLoaded(): boolean {
  const store = useFleetStore()
  return useSyncExternalStore(store.subscribe, store.isLoaded)
}

export function useStatus(sessionId: string): SessionStatus | undefined {
  const store = useFleetStore()
  return useSyncExternalStore(store.subscribe, () => store.get(sessionId))
}
