import type { PermissionRequestEvent } from '@chirality/core'
import type { LiveSession, SessionHost } from '@chirality/sessions'
import { LEAVE } from './loop-context.ts'

export interface WatchedTurnOptions {
  host: Pick<SessionHost, 'onStatus'>
  live: LiveSession
  signal: AbortSignal
  /** When it began, if a process before this one began it. */
  since: string | undefined
  limitMs: number
  /** How long a request of the agent may wait for an answer. */
  answerMs: () => number
  start: () => Promise<unknown>
}

/** `left`: the agent works on without this process. `asked`: nobody answered it. */
export type WatchedTurn = { left: true } | { left: false; asked?: PermissionRequestEvent }

/** Starts a turn, or takes one up that has begun, and waits for its end. Nothing of its agent runs afterwards. */
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
  // With `LEAVE` the agent works on: the next process that runs the loop finds the turn again.
  let leave = () => {}
  const left = new Promise<void>(resolve => {
    leave = resolve
  })
  const abort = () => (signal.reason === LEAVE ? leave() : interrupt())
  signal.addEventListener('abort', abort)
  // The host knows the limit of a turn that it started, but not of one that it found again.
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
    // Nothing of the agent may change a file while the checks run.
    await live.kill()
  } finally {
    unwatch()
    clearTimeout(waiting)
    clearTimeout(late)
    signal.removeEventListener('abort', abort)
  }
  return asked === undefined ? { left: false } : { left: false, asked }
}

/** The host ends a turn at its limit; this is for a turn that only the loop watches. */
const LATE_MS = 10_000
