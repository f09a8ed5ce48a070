import type { PermissionRequestEvent } from '@chirality/core'
import type { LiveSession, SessionHost } from '@chirality/sessions'
import { LEAVE } from './loop-context.ts'

export interface WatchedTurnOptions {
  host: Pick<SessionHost, 'onStatus'>
  live: LiveSession
  signal: AbortSignal
  /** Start of the turn, if an earlier process started it. */
  since: string | undefined
  limitMs: number
  /** How long a request of the agent may wait for an answer. */
  answerMs: () => number
  start: () => Promise<unknown>
}

/** `left`: the agent continues without this process. `asked`: a request that nobody answered. */
export type WatchedTurn = { left: true } | { left: false; asked?: PermissionRequestEvent }

/** Starts a turn, or takes up a started one, and waits for its end. No process of its agent is left afterwards. */
export async function watchTurn(options: WatchedTurnOptions): Promise<WatchedTurn> {
  const { host, live, signal, since, limitMs, answerMs, start } = options
  let asked: PermissionRequestEvent | undefined
  let waiting: NodeJS.Timeout | undefined
  let awaited: string | undefined // Each request has the whole time.
  const watch = () => {
    const [request] = live.status.pending
    if (request?.requestId === awaited) return
    clearTimeout(waiting)
    awaited = request?.requestId
    if (request !== undefined)
      waiting = setTimeout(() => {
        asked = request
        live.interrupt()
      }, answerMs())
  }
  const unwatch = host.onStatus(({ sessionId }) => {
    if (sessionId === live.id) watch()
  })
  const interrupt = () => live.interrupt()
  // With `LEAVE` the agent continues, and the next process that runs the loop finds its turn.
  let leave = () => {}
  const left = new Promise<void>(resolve => {
    leave = resolve
  })
  const abort = () => (signal.reason === LEAVE ? leave() : interrupt())
  signal.addEventListener('abort', abort)
  // The host enforces the limit of a turn that it started, but not of one that it took up.
  const spentMs = since === undefined ? 0 : Date.now() - Date.parse(since)
  const late = setTimeout(interrupt, Math.max(0, limitMs + LATE_MS - spentMs))
  try {
    if (since === undefined) {
      if (signal.aborted) return { left: true }
      await start()
    }
    watch()
    await Promise.race([live.settled(), left])
    if (signal.reason === LEAVE) return { left: true }
    // The agent must not change files while the checks run.
    await live.kill()
  } finally {
    unwatch()
    clearTimeout(waiting)
    clearTimeout(late)
    signal.removeEventListener('abort', abort)
  }
  return asked === undefined ? { left: false } : { left: false, asked }
}

/** Margin for the host, which ends its turns at the limit. This timer is for turns that only the loop watches. */
const LATE_MS = 10_000
