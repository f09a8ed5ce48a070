import type { SessionStatus } from '../state/server/answers.ts'

const MAX_CHARS = 120

/** Its name, else what it last did, else that it is new. */
export function sessionTitle({ title, lastLine }: Pick<SessionStatus, 'title' | 'lastLine'>): string {
  const words = (title ?? '').trim() || (lastLine ?? '').trim() || 'New session'
  return words.length > MAX_CHARS ? `${words.slice(0, MAX_CHARS)}…` : words
}
