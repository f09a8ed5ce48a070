import type { Envelope, UIEvent } from '@chirality/core'
import { openSessionLog } from '../../src/log/open-logs.ts'
import type { SessionStore } from '../../src/store/session-store.ts'
import type { StoredSession } from '../../src/store/stored-session.ts'

/** An event without its session. */
export type LooseEvent = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

export interface SessionWithOptions {
  store: SessionStore
  projectRoot: string
  title?: string
  minute?: number
}

/** A session whose log holds these events, one a second. */
export async function sessionWith(events: LooseEvent[], options: SessionWithOptions): Promise<StoredSession> {
  const { store, projectRoot, title, minute = 0 } = options
  const session = await store.create(projectRoot, null, 'direct', {
    ...(title === undefined ? {} : { title }),
  })
  let time = Date.UTC(2026, 0, 1, 0, minute)
  const now = () => {
    time += 1000
    return new Date(time)
  }
  const log = await openSessionLog(projectRoot, session.id, { now })
  for (const event of events) log.append({ ...event, sessionId: session.id } as UIEvent, { turnId: 't1' })
  await log.close()
  return session
}

/** The same events as envelopes. */
export function envelopesOf(events: LooseEvent[], sessionId = 's'): Envelope[] {
  return events.map((event, i) => ({
    seq: i + 1,
    at: new Date(Date.UTC(2026, 0, 1) + i * 1000).toISOString(),
    sessionId,
    turnId: 't1',
    event: { ...event, sessionId } as UIEvent,
  }))
}
