import type { Envelope } from '@chirality/core'
import type { SessionLog } from '@chirality/sessions'
import type { z } from 'zod'
import type { CALLS } from '../contract/calls.ts'
import type { SseStream } from '../http/sse.ts'
import { eventsOfTurn } from '../trpc/event-batches.ts'
import { type FleetService, remoteSession } from './fleet-service.ts'
import { forwarded } from './forward.ts'

/** A turn that another machine runs. */
interface RemoteTurn {
  turnId: string
  /** Up to its last event; without a `turn:end` if its machine is away before. Closes the log. */
  events(stream: Pick<SseStream, 'pace' | 'signal'>): AsyncGenerator<Envelope[]>
}

/** Starts a turn of a session on the machine that has it. Undefined for a session of this machine. */
export async function startRemoteTurn(
  fleet: FleetService | undefined,
  input: z.infer<typeof CALLS.turns.start.input>,
): Promise<RemoteTurn | undefined> {
  const { sessionId } = input
  if (fleet === undefined || remoteSession(fleet, sessionId) === undefined) return undefined
  const log = await fleet.log(sessionId)
  try {
    // What is mirrored late is of earlier turns.
    const after = log.lastSeq
    const { data } = (await forwarded(fleet, { path: 'turns.start', input })) ?? {}
    const { turnId } = data as z.infer<typeof CALLS.turns.start.output>
    return { turnId, events: stream => mirroredEvents({ fleet, log, sessionId, turnId, after }, stream) }
  } catch (error) {
    await log.close()
    throw error
  }
}

interface Mirrored {
  fleet: FleetService
  log: SessionLog
  sessionId: string
  turnId: string
  after: number
}

async function* mirroredEvents(
  { fleet, log, sessionId, turnId, after }: Mirrored,
  { pace, signal }: Pick<SseStream, 'pace' | 'signal'>,
): AsyncGenerator<Envelope[]> {
  const away = new AbortController()
  const listeners = new Set<() => void>([
    () => {
      const machine = fleet.machineOf(sessionId)
      if (machine !== undefined && fleet.stateOf(machine) === 'away') away.abort()
    },
  ])
  const stop = fleet.onChange(id => {
    if (id === sessionId) for (const listener of [...listeners]) listener()
  })
  const ends = AbortSignal.any([signal, away.signal])
  /** The number of the turn's last event: what its machine said when it was over. Its end may be mirrored before that. */
  const settled = (endSeq: number): Promise<number> =>
    new Promise(resolve => {
      const check = () => {
        const last = ends.aborted ? endSeq : lastSeqAfter(fleet, { sessionId, turnId, endSeq })
        if (last === undefined) return
        listeners.delete(check)
        ends.removeEventListener('abort', check)
        resolve(last)
      }
      listeners.add(check)
      ends.addEventListener('abort', check)
      check()
    })
  try {
    yield* eventsOfTurn({ log, turnId, after, settled }, { pace, signal: ends })
  } finally {
    stop()
    await log.close()
  }
}

/** Undefined while the turn is not known to be over. One that came to this machine meanwhile is. */
function lastSeqAfter(
  fleet: FleetService,
  { sessionId, turnId, endSeq }: { sessionId: string; turnId: string; endSeq: number },
): number | undefined {
  const remote = remoteSession(fleet, sessionId)
  if (remote === undefined) return endSeq
  const { lastSeq } = remote.status ?? remote.session
  const isOver = remote.status === null || remote.status.phase === 'idle' || remote.status.turnId !== turnId
  return isOver && lastSeq >= endSeq ? lastSeq : undefined
}
