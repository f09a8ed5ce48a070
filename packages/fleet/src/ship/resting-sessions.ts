import type { SessionStatus } from '@chirality/sessions'

/** What says whether the log of an open session can be growing. */
export type OpenSession = Pick<SessionStatus, 'sessionId' | 'projectRoot' | 'phase' | 'lastSeq'>

/**
 * Which open sessions rest: a machine keeps hundreds of them open, and looking at the file of each ten times a second
 * takes some percent of a core for nothing.
 */
export class RestingSessions {
  #known = new Map<string, { lastSeq: number; changedAt: number }>()

  /** The sessions whose log may have grown since the last call; the others are left to the sweep over all files. */
  awake(open: readonly OpenSession[], now: number): OpenSession[] {
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

/** The status says the number of an event before the event is in the file. */
const SETTLES_MS = 2_000
