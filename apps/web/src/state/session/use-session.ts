import { createContext, use, useSyncExternalStore } from 'react'
import { own } from '../../ui/own.ts'
import type { SessionSnapshot, SessionStore } from './session-store.ts'

export const SessionContext = createContext<SessionStore | null>(null)

export function useSessionStore(): SessionStore {
  const store = use(SessionContext)
  if (!store) throw new Error('useSession is only for what is inside a SessionContext')
  return store
}

/** A part of the session. The selector returns something that is there already, never a new object. */
export function useSession<T>(select: (snapshot: SessionSnapshot) => T): T {
  return useStorePart(useSessionStore(), select)
}

/** The same for a session that is not the one in view of the component. */
export function useStorePart<T>(store: SessionStore, select: (snapshot: SessionSnapshot) => T): T {
  return useSyncExternalStore(store.subscribe, () => select(store.get()))
}

/** What is still being written of an item; undefined when nothing is. */
export function useLiveText(itemId: string): string | undefined {
  return useSession(({ state }) => own(state.live, itemId))
}
