import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { useClient } from '../../state/server/use-client.ts'
import { startPulse } from '../../state/session/pulse.ts'
import { useSessionStore } from '../../state/session/use-session.ts'
import { createRawLists, type RawLists } from './raw-lists.ts'
import type { TwoWayList, TwoWayState } from './two-way-list.ts'

/** Both sides of the session in view; they follow it while it works. */
export function useRawLists(sessionId: string): RawLists {
  const client = useClient()
  const store = useSessionStore()
  const lists = useMemo(() => createRawLists(client, sessionId), [client, sessionId])
  useEffect(() => {
    const { pulse, stop } = startPulse({
      read: () => Promise.all([lists.events.refresh(), lists.lines.refresh()]),
      isRunning: () => store.get().state.phase !== 'idle',
    })
    let seen = store.get().state.seq
    const unsubscribe = store.subscribe(() => {
      const { seq } = store.get().state
      if (seq !== seen) pulse.wake()
      seen = seq
    })
    return () => {
      unsubscribe()
      stop()
    }
  }, [lists, store])
  return lists
}

export function useTwoWay<T, C>(list: TwoWayList<T, C>): TwoWayState<T> {
  return useSyncExternalStore(list.subscribe, list.get)
}
