/** Message of the worker to a page: the user chose a notification. Pages of an earlier build know this word, too. */
export const WORKER_OPENS = 'open-session'

/** Subject of a notification or of a message of the worker. All schedules are on one page. */
export type Subject = { kind: 'session' | 'loop' | 'schedule'; id: string }

export function subjectOf(data: unknown): Subject | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  for (const kind of ['session', 'loop', 'schedule'] as const) {
    const id: unknown = Reflect.get(data, `${kind}Id`)
    if (typeof id === 'string' && id !== '') return { kind, id }
  }
  return undefined
}

/** The page that shows it. */
export function addressOf({ kind, id }: Subject): string {
  if (kind === 'schedule') return '/schedules'
  return `${kind === 'session' ? '/s/' : '/loops/'}${encodeURIComponent(id)}`
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
  const subject = subjectOf(data)
  const options = {
    body: wordOf(body) ?? 'A session needs you',
    icon: '/icon-192.png',
    badge: '/badge-96.png',
  }
  const renotify = !shown.some(({ data: before }) => isSameSubject(data, before))
  const tagged = subject === undefined ? options : { ...options, data, tag: subject.id, renotify }
  return { title: wordOf(title) ?? 'Chirality', options: tagged }
}

function isSameSubject(data: Record<string, unknown>, before: unknown): boolean {
  if (typeof before !== 'object' || before === null) return false
  return ['kind', 'sessionId', 'loopId', 'scheduleId', 'requestId'].every(
    key => data[key] === Reflect.get(before, key),
  )
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

export function subjectToOpen(data: unknown): Subject | undefined {
  const isOpening = typeof data === 'object' && data !== null && 'type' in data && data.type === WORKER_OPENS
  return isOpening ? subjectOf(data) : undefined
}
