import { useQuery } from '@tanstack/react-query'
import type { SessionSettings } from '../server/answers.ts'
import { useAskAgain, useClient } from '../server/use-client.ts'
import { useSessionHub, useStorePart } from './use-session.ts'

const NONE: SessionSettings = {}

/** Settings chosen for a session. */
export function useSettings(sessionId: string): SessionSettings {
  const client = useClient()
  const { data } = useQuery(
    client.sessions.get.queryOptions({ sessionId }, { select: ({ settings }) => settings }),
  )
  return data ?? NONE
}

/** The mode of the turn that runs, else the one that the next turn will have. */
export function usePermissionMode(sessionId: string): string {
  const store = useSessionHub().store(sessionId)
  const { permissionMode } = useSettings(sessionId)
  const live = useStorePart(store, ({ state }) =>
    state.phase === 'idle' ? null : state.agent.permissionMode,
  )
  return live ?? permissionMode ?? 'default'
}

/** Call it after a setting was changed. */
export function useSettingsChanged(sessionId: string): () => void {
  const askAgain = useAskAgain()
  const client = useClient()
  return () => void askAgain(client.sessions.get.queryFilter({ sessionId }))
}
