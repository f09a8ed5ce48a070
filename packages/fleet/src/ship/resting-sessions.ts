import type { SessionStatus } from '@chirality/sessions'

/** The facts of a status that show whether a log can be growing. */
export type ShippableSession = Pick<SessionStatus, 'sessionId' | 'projectRoot' | 'phase' | 'lastSeq'>

/**
 * Finds the idle ones among the open sessions. A machine keeps hundreds open, and checking each file ten times a second
 * takes some percent of a core for nothing.
 */
export class RestingSessions {
  #known = new Map<string, { lastSeq: number; changedAt: number }>()

  /** Sessions whose log may have grown since the last call. The others are covered by the sweep over all files. */
  awake(open: readonly ShippableSession[], now: number): ShippableSession[] {
    const known = new Map<string, { lastSeq: number; changedAt: number }>()
    const awake = open.filter(({ sessionId, phase, lastSeq }) => {
      const before = this.#known.get(sessionId)
      const isSame = before !== undefined && before.lastSeq === lastSeq && phase === 'idle'
      const changedAt = isSame ? before.changedAt : now
      known.set(sessionId, { lastSeq, changedAt })
      return now - changedAt <= SETTLES_MS
    })
    this.#known = known
    return awake
  }
}

/** The status has the number of an event before the file has the event. */
const SETTLES_MS = 2_000
