import type { SessionStatus } from '@chirality/sessions'

/** The facts of a status that show whether a log can be growing. */
export type ShippableSession = Pick<SessionStatus, 'sessionId' | 'projectRoot' | 'phase' | 'lastSeq'>

/** The open sessions of this machine, as its host has them. */
export interface ShippableSessions {
  statuses: () => readonly ShippableSession[]
  openSession: (sessionId: string) => { status: ShippableSession } | undefined
  onStatus: (listener: (status: ShippableSession) => void) => () => void
}

/**
 * The open sessions whose log may be growing. A machine keeps hundreds open, and looking at each ten times a second
 * takes some percent of a core for nothing, so a session is known here from a change of its status until it has rested
 * for a while. Logs of all others are covered by the sweep over all files.
 */
export class AwakeSessions {
  readonly #open: ShippableSessions
  readonly #awake = new Map<string, { lastSeq: number; changedAt: number }>()
  readonly #unlisten: () => void

  /** `onWake`: the status of a session changed. */
  constructor(open: ShippableSessions, onWake: () => void) {
    this.#open = open
    for (const { sessionId, lastSeq } of open.statuses()) this.#note(sessionId, lastSeq)
    this.#unlisten = open.onStatus(({ sessionId, lastSeq }) => {
      this.#note(sessionId, lastSeq)
      onWake()
    })
  }

  close(): void {
    this.#unlisten()
  }

  list(): ShippableSession[] {
    const now = performance.now()
    return [...this.#awake].flatMap(([sessionId, before]) => {
      const status = this.#open.openSession(sessionId)?.status
      const isSame = status?.phase === 'idle' && status.lastSeq === before.lastSeq
      if (status !== undefined && !isSame) this.#note(sessionId, status.lastSeq)
      else if (status === undefined || now - before.changedAt > SETTLES_MS) this.#awake.delete(sessionId)
      return status !== undefined && this.#awake.has(sessionId) ? [status] : []
    })
  }

  #note(sessionId: string, lastSeq: number): void {
    this.#awake.set(sessionId, { lastSeq, changedAt: performance.now() })
  }
}

/** The status has the number of an event before the file has the event. */
const SETTLES_MS = 2_000
