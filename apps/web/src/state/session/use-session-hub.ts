import { createContext, use } from 'react'
import type { SessionHub } from './session-hub.ts'

export const SessionHubContext = createContext<SessionHub | null>(null)

export function useSessionHub(): SessionHub {
  const hub = use(SessionHubContext)
  if (!hub) throw new Error('useSessionHub is only for what is inside a SessionHubContext')
  return hub
}
