import { createContext, use, useEffect, useMemo, useSyncExternalStore } from 'react'
import { own } from '../../ui/own.ts'
import type { SessionHub } from './session-hub.ts'
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

/** For a pane that counts or lists all that ever happened: a long log is loaded whole while it is shown. */
export function useWholeSession(isNeeded = true): void {
  const store = useSessionStore()
  const whole = useSession(snapshot => snapshot.whole)
  useEffect(() => {
    if (isNeeded && !whole) store.want('whole')
  }, [store, whole, isNeeded])
}

/** Text of an item that is still being written; undefined when nothing is. */
export function useLiveText(itemId: string): string | undefined {
  return useSession(({ state }) => own(state.live, itemId))
}

export const SessionHubContext = createContext<SessionHub | null>(null)

export function useSessionHub(): SessionHub {
  const hub = use(SessionHubContext)
  if (!hub) throw new Error('useSessionHub is only for what is inside a SessionHubContext')
  return hub
}

/** Actions on a message of the session in view. Absent: the harness cannot, or not now. */
export interface SessionActions {
  retry?: (text: string, turnId: string | null) => void
  /** Sends the agent on after a limit that it reached. */
  goOn?: (turnId: string | null) => void
  fork?: (turnId: string) => void
  /** Files and conversation as they were before the turn; asks first. */
  goBack?: (turnId: string) => void
  showChanges?: (turnId: string) => void
  /** All that a command printed, by the id of its call. */
  showOutput?: (toolId: string) => void
}

export const SessionActionsContext = createContext<SessionActions>({})

export function useSessionActions(): SessionActions {
  return use(SessionActionsContext)
}

/** Where the session in view works: paths inside it are shown without it. */
export const ProjectRootContext = createContext('')

export function useProjectRoot(): string {
  return use(ProjectRootContext)
}

/** Grows with each result of a tool, each turn that ends, and each notice, as of a review in another tab: then files may have changed. */
export function useWorkDone(): number {
  const items = useSession(({ state }) => state.items)
  const turns = useSession(({ state }) => state.turns)
  return useMemo(
    () =>
      items.filter(item => (item.kind === 'tool' ? item.endedAt !== null : item.kind === 'notice')).length +
      turns.filter(({ endedAt }) => endedAt !== null).length,
    [items, turns],
  )
}
