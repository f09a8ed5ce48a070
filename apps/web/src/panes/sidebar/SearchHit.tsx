import type { CallOutputs } from '@chirality/client'
import type { SearchHit, SessionStatus } from '../../state/server/answers.ts'
import { sessionTitle } from '../../words/session-title.ts'
import { foundParts, type SnippetPart, snippetParts } from './snippet.logic.ts'

export function hitsIn({ hits }: CallOutputs['sessions']['search']): SearchHit[] {
  return hits
}

/** The page of the session, at what was found. */
export function hitPlace({ sessionId, turnId, seq }: Pick<SearchHit, 'sessionId' | 'turnId' | 'seq'>) {
  return {
    to: turnId ? '/s/$sessionId/t/$turnId' : '/s/$sessionId',
    params: { sessionId, turnId: turnId ?? '' },
    search: { at: seq },
  } as const
}

/** Title of a hit, as everywhere else: a session at its first turn is named by its prompt. */
export function hitTitle({ sessionId, title }: SearchHit, statuses: readonly SessionStatus[]): string {
  const status = statuses.find(one => one.sessionId === sessionId)
  return status ? sessionTitle(status) : (title ?? 'Untitled session')
}

export function Snippet({ excerpt, query }: { excerpt: string; query: string }) {
  return <Parts parts={snippetParts(excerpt, query)} />
}

export function FoundText({ text, query }: { text: string; query: string }) {
  return <Parts parts={foundParts(text, query)} />
}

function Parts({ parts }: { parts: readonly SnippetPart[] }) {
  return parts.map(({ text, found }, index) =>
    found ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
  )
}
