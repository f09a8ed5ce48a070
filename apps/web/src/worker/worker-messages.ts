/** What the worker says to a page: that the person chose the notification of this session. */
export const WORKER_OPENS = 'open-session'

/** The session that a notification, or a message of the worker, is about. */
export function sessionIdOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('sessionId' in data)) return undefined
  return typeof data.sessionId === 'string' ? data.sessionId : undefined
}

export function sessionToOpen(data: unknown): string | undefined {
  const isOpening = typeof data === 'object' && data !== null && 'type' in data && data.type === WORKER_OPENS
  return isOpening ? sessionIdOf(data) : undefined
}
