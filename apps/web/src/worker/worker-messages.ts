/** What the worker says to a page: that the person chose the notification of this session. */
export const WORKER_OPENS = 'open-session'

/** The session that a notification, or a message of the worker, is about. */
export function sessionIdOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('sessionId' in data)) return undefined
  return typeof data.sessionId === 'string' ? data.sessionId : undefined
}

/**
 * A message of the server that came through a push service. It has the tag of its session, so that it takes the place of
 * what the page shows itself, and makes no second sound for the same request. It has no buttons: no browser says whether the
 * device was unlocked, so the answer is given on the page.
 */
export function pushMessageOf(
  text: string,
  shown: readonly Pick<Notification, 'data'>[] = [],
): { title: string; options: NotificationOptions } {
  const { title, body, ...data } = parse(text)
  const sessionId = sessionIdOf(data)
  const options = {
    body: wordOf(body) ?? 'A session needs you',
    icon: '/icon-192.png',
    badge: '/badge-96.png',
  }
  const renotify = !shown.some(({ data: before }) => isSameSubject(data, before))
  const tagged = sessionId === undefined ? options : { ...options, data, tag: sessionId, renotify }
  return { title: wordOf(title) ?? 'Chirality', options: tagged }
}

function isSameSubject(data: Record<string, unknown>, before: unknown): boolean {
  if (typeof before !== 'object' || before === null) return false
  return ['kind', 'sessionId', 'requestId'].every(key => data[key] === Reflect.get(before, key))
}

/** Browsers want a notification for each message, so one that cannot be read shows a word, too. */
function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function sessionToOpen(data: unknown): string | undefined {
  const isOpening = typeof data === 'object' && data !== null && 'type' in data && data.type === WORKER_OPENS
  return isOpening ? sessionIdOf(data) : undefined
}
