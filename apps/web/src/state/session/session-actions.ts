import { createContext, use } from 'react'

/** What can be done with a message of the session in view. Absent: the harness cannot, or it is not the time. */
export interface SessionActions {
  retry?: (text: string, turnId: string | null) => void
  /** Sends the agent on after a limit that it reached. */
  goOn?: (turnId: string | null) => void
  fork?: (turnId: string) => void
  showChanges?: (turnId: string) => void
}

export const SessionActionsContext = createContext<SessionActions>({})

export function useSessionActions(): SessionActions {
  return use(SessionActionsContext)
}
