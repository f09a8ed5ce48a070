import type { SearchHit, SessionStatus } from '../../state/server/server-api.ts'
import { sessionTitle } from './session-title.ts'
import { snippetParts } from './snippet.logic.ts'

/** The page of the session, at what was found. */
export function hitPlace({ sessionId, turnId, seq }: SearchHit) {
  return {
    to: turnId ? '/s/$sessionId/t/$turnId' : '/s/$sessionId',
    params: { sessionId, turnId: turnId ?? '' },
    search: { at: seq },
  } as const
}

/** As everywhere else: a session at its first turn has its title from what it was asked. */
export function hitTitle({ sessionId, title }: SearchHit, statuses: readonly SessionStatus[]): string {
  const status = statuses.find(one => one.sessionId === sessionId)
  return status ? sessionTitle(status) : (title ?? 'Untitled session')
}

export function Snippet({ excerpt, query }: { excerpt: string; query: string }) {
  return snippetParts(excerpt, query).map(({ text, found }, index) =>
    found ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
  )
}
