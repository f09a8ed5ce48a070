import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'
import { BoundedMap } from './bounded-map.ts'

/** A remark on a line of a diff. It goes to the agent with the next message. */
export interface Comment {
  id: string
  path: string
  line: number
  side: 'old' | 'new'
  /** The line itself, so that the agent finds it also after more changes. */
  quote: string
  text: string
}

const MAX_SESSIONS = 50
const NONE: readonly Comment[] = []
const stored = new BoundedMap<readonly Comment[]>('chirality-comments', MAX_SESSIONS)
const listeners = new Listeners()

export function useComments(sessionId: string): readonly Comment[] {
  return useSyncExternalStore(listeners.subscribe, () => stored.get(sessionId) ?? NONE)
}

export function readComments(sessionId: string): readonly Comment[] {
  return stored.get(sessionId) ?? NONE
}

export function saveComments(sessionId: string, comments: readonly Comment[]): void {
  if (comments.length === 0) stored.delete(sessionId)
  else stored.set(sessionId, comments)
  listeners.tell()
}

/** The message with the comments under it, in a form that every agent understands. */
export function withComments(text: string, comments: readonly Comment[]): string {
  if (comments.length === 0) return text
  const lines = comments.map(({ path, line, side, quote, text: remark }) => {
    const where = side === 'old' ? `${path}, removed line ${line}` : `${path}:${line}`
    return `- ${where}\n  > ${quote.trim()}\n  ${remark}`
  })
  return `${text}${text === '' ? '' : '\n\n'}Comments on the changes:\n${lines.join('\n')}`
}
