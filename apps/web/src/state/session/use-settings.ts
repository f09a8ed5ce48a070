import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { SessionSettings } from '../server/server-api.ts'
import { useApi } from '../server/use-api.ts'
import { useSessionHub, useStorePart } from './use-session.ts'

const NONE: SessionSettings = {}

/** What was chosen for a session. */
export function useSettings(sessionId: string): SessionSettings {
  const api = useApi()
  const { data } = useQuery({ queryKey: settingsKey(sessionId), queryFn: () => api.settings(sessionId) })
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
  const queries = useQueryClient()
  return () => void queries.invalidateQueries({ queryKey: settingsKey(sessionId) })
}

function settingsKey(sessionId: string) {
  return ['settings', sessionId] as const
}
