import type { SessionState } from '@chirality/core'
import { useRef } from 'react'
import { useSession, useSessionStore } from '../../state/session/use-session.ts'
import { buildRows, type ChatRows, NO_ROWS } from './rows.logic.ts'

/** The rows of the session in view. They change with the structure of the conversation, not with text that grows. */
export function useChatRows(): ChatRows {
  const store = useSessionStore()
  const built = useRef<{ state: SessionState | null; rows: ChatRows }>({ state: null, rows: NO_ROWS })
  return useSession(({ state }) => {
    const { current } = built
    if (current.state?.sessionId !== store.sessionId) built.current = { state, rows: buildRows(state) }
    else if (!sameStructure(current.state, state))
      built.current = { state, rows: buildRows(state, current.rows) }
    return built.current.rows
  })
}

function sameStructure(a: SessionState, b: SessionState): boolean {
  return (
    a.items === b.items &&
    a.turns === b.turns &&
    a.pending === b.pending &&
    a.status === b.status &&
    a.phase === b.phase &&
    isWriting(a) === isWriting(b)
  )
}

function isWriting({ live }: SessionState): boolean {
  for (const _ in live) return true
  return false
}
