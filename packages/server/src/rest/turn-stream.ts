import type { Envelope } from '@chirality/core'
import type { LiveSession, SessionHost } from '@chirality/sessions'
import type { SseStream } from '../http/sse.ts'
import { eventBatches } from '../trpc/event-batches.ts'

export interface TurnStream {
  host: Pick<SessionHost, 'onStatus'>
  session: LiveSession
  turnId: string
  /** Events of the turn come after it. */
  after: number
}

/** The events of one turn up to its last, which can come after `turn:end`. The turn goes on if the reader leaves. */
export async function* turnEvents(
  turn: TurnStream,
  stream: Pick<SseStream, 'pace' | 'signal'>,
): AsyncGenerator<Envelope[]> {
  const { host, session, turnId, after } = turn
  const { pace, signal } = stream
  let lastSeq: number | undefined
  for await (const batch of eventBatches(session.log, after, { pace, signal })) {
    const ours = batch.filter(envelope => envelope.turnId === turnId)
    if (ours.length > 0) yield ours
    if (lastSeq === undefined && ours.some(({ event }) => event.type === 'turn:end')) {
      await turnOver(host, session, { turnId, signal })
      // What comes after this is of other turns, and there may always be more of it.
      lastSeq = session.log.lastSeq
    }
    if (lastSeq !== undefined && (batch.at(-1)?.seq ?? 0) >= lastSeq) return
  }
}

/** Resolves when the session has done with the turn: nothing more is said about it. */
function turnOver(
  host: TurnStream['host'],
  session: LiveSession,
  { turnId, signal }: { turnId: string; signal: AbortSignal },
): Promise<void> {
  const isOver = () => signal.aborted || session.status.phase === 'idle' || session.status.turnId !== turnId
  return new Promise(resolve => {
    const check = () => {
      if (!isOver()) return
      stop()
      signal.removeEventListener('abort', check)
      resolve()
    }
    const stop = host.onStatus(check)
    signal.addEventListener('abort', check)
    check()
  })
}
