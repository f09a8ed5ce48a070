import type { Envelope } from '@chirality/core'
import type { SessionLog } from '@chirality/sessions'
import type { z } from 'zod'
import type { Centre } from '../centre.ts'
import { forwarded } from '../machines/forward.ts'
import { type FleetService, remoteSession } from '../machines.ts'
import type { startedTurn } from '../shapes/sessions.ts'
import type { turnInput } from '../shapes/values.ts'
import { eventsOfTurn, type PacedReader, turnEvents } from './event-batches.ts'
import { liveSession } from './live-session.ts'

/** A turn whose events are read until its end. */
export interface FollowedTurn {
  turnId: string
  /** Up to its last event; without a `turn:end` if its machine is away before. */
  events(reader: PacedReader): AsyncGenerator<Envelope[]>
}

/** Starts a turn on the machine that has its session. */
export async function startFollowedTurn(
  centre: Centre,
  input: z.infer<typeof turnInput>,
): Promise<FollowedTurn> {
  const there = await startRemoteTurn(centre.machines, input)
  if (there !== undefined) return there
  const session = await liveSession(centre, input.sessionId)
  const after = session.log.lastSeq
  const { turnId } = await session.start(input.message, input.options)
  return { turnId, events: reader => turnEvents({ host: centre.host, session, turnId, after }, reader) }
}

/** Undefined for a session of this machine. Its events close the mirrored log. */
async function startRemoteTurn(
  machines: FleetService | undefined,
  input: z.infer<typeof turnInput>,
): Promise<FollowedTurn | undefined> {
  const { sessionId } = input
  if (machines === undefined || remoteSession(machines, sessionId) === undefined) return undefined
  const log = await machines.log(sessionId)
  try {
    // What is mirrored late is of earlier turns.
    const after = log.lastSeq
    const { data } = (await forwarded(machines, { path: 'turns.start', input })) ?? {}
    const { turnId } = data as z.infer<typeof startedTurn>
    return { turnId, events: reader => mirroredEvents({ machines, log, sessionId, turnId, after }, reader) }
  } catch (error) {
    await log.close()
    throw error
  }
}

interface Mirrored {
  machines: FleetService
  log: SessionLog
  sessionId: string
  turnId: string
  after: number
}

async function* mirroredEvents(
  { machines, log, sessionId, turnId, after }: Mirrored,
  { pace, signal }: PacedReader,
): AsyncGenerator<Envelope[]> {
  const away = new AbortController()
  const listeners = new Set<() => void>([
    () => {
      const machine = machines.machineOf(sessionId)
      if (machine !== undefined && machines.stateOf(machine) === 'away') away.abort()
    },
  ])
  const stop = machines.onChange(id => {
    if (id === sessionId) for (const listener of [...listeners]) listener()
  })
  const ends = AbortSignal.any([signal, away.signal])
  /** The number of the turn's last event: what its machine said when it was over. Its end may be mirrored before that. */
  const settled = (endSeq: number): Promise<number> =>
    new Promise(resolve => {
      const check = () => {
        const last = ends.aborted ? endSeq : lastSeqAfter(machines, { sessionId, turnId, endSeq })
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
  machines: FleetService,
  { sessionId, turnId, endSeq }: { sessionId: string; turnId: string; endSeq: number },
): number | undefined {
  const remote = remoteSession(machines, sessionId)
  if (remote === undefined) return endSeq
  const { lastSeq } = remote.status ?? remote.session
  const isOver = remote.status === null || remote.status.phase === 'idle' || remote.status.turnId !== turnId
  return isOver && lastSeq >= endSeq ? lastSeq : undefined
}
