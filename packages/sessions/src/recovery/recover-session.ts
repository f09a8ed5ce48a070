import { HarnessError, type HarnessId } from '@chirality/core'
import type { TornLine } from '../log/envelope-line.ts'
import { pagesAfter } from '../log/pages.ts'
import type { SessionLog } from '../log/session-log.ts'
import { askedNobody, crashed, endOfTurn, notice, turnEnd } from '../log/turn-events.ts'
import type { SessionView } from '../status/session-view.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { ProjectContext } from '../turns/host-context.ts'
import type { LiveTurn } from '../turns/live-turn.ts'
import type { SessionRecorder } from '../turns/record/session-recorder.ts'
import type { SessionStateFiles } from '../turns/record/session-state-files.ts'
import { stopRecorded, type TurnRecord } from '../turns/record/turn-record.ts'
import { settleTurn } from '../turns/settle-turn.ts'
import { afterTurn } from '../turns/turn-writer.ts'
import { type AdoptingHarness, adoptTurn, canAdopt } from './adopt-turn.ts'
import { ASIDE } from './match-events.ts'
import { type LoggedTurn, lastTurnIn } from './turns-in-log.ts'

export interface RecoverOptions {
  project: ProjectContext
  view: SessionView
  state: SessionStateFiles
  recorder: SessionRecorder
  log: SessionLog
}

export type Recovery =
  /** No turn was running. */
  | { kind: 'none' }
  /** The turn goes on, or its remaining events are read. */
  | { kind: 'adopted'; turn: LiveTurn }
  /** It could not be adopted and ended with the host that ran it. */
  | { kind: 'closed'; turnId: string; stopped: number }

/**
 * Whether a turn that is adopted tells an event again. Only the agent's are in the raw log, and after the end of the
 * turn only the exit of its process.
 */
export function retoldEvents(
  project: ProjectContext,
  session: StoredSession,
  state: SessionStateFiles,
): (torn: TornLine, log: SessionLog) => Promise<boolean> {
  return async ({ turnId, type }, log) => {
    const record = await state.record.read()
    if (record?.turnId !== turnId || adopterOf(project, session, record) === undefined) return false
    const last = await lastTurnIn(log)
    const isEnded = last?.turnId === turnId && last.ended !== undefined
    return isEnded ? type === 'process:exit' : !ASIDE.has(type)
  }
}

function adopterOf(
  project: ProjectContext,
  session: StoredSession,
  record: TurnRecord,
): AdoptingHarness | undefined {
  const harness = project.harnesses.get(record.harness)
  const isLeft = record.processes.length > 0 && project.store.isOwn(session)
  return isLeft && canAdopt(harness) ? harness : undefined
}

/** Adopts or ends the turn that an earlier host left. Afterwards no session is shown as working that is not. */
export async function recoverSession(options: RecoverOptions): Promise<Recovery> {
  const { project, view, state, log } = options
  await replayTail(view, log)
  const record = await state.record.read()
  const last = await lastTurnIn(log)
  const logged = record === undefined || last?.turnId === record.turnId ? last : undefined
  if (record === undefined) {
    return last === undefined || last.ended !== undefined ? { kind: 'none' } : close(options, last)
  }
  const harness = project.harnesses.get(record.harness)
  // A record that came with a checkout could name a forged raw log, and so decide how the turn ended and what is sent
  // next.
  const isOwn = project.store.isOwn(view.session)
  if (isOwn && harness === undefined) throw unknownHarness(record.harness)
  // An open turn that is not the one on record was left by something worse than a crash.
  if (last !== undefined && logged === undefined && last.ended === undefined) await close(options, last)
  const adopter = adopterOf(project, view.session, record)
  if (adopter !== undefined)
    return { kind: 'adopted', turn: await adoptTurn({ ...options, record, harness: adopter, logged }) }
  const stopped = await stopRecorded(record)
  if (logged === undefined) {
    await state.record.remove()
    return { kind: 'none' }
  }
  return close(options, logged, stopped)
}

/** Events that the stored session lacks, because the host exited before it stored them. */
async function replayTail(view: SessionView, log: SessionLog): Promise<void> {
  for await (const page of pagesAfter(log, view.session.lastSeq)) view.replay(page)
}

async function close(
  { project, view, state, recorder }: RecoverOptions,
  turn: LoggedTurn,
  stopped = 0,
): Promise<Recovery> {
  const { turnId } = turn
  const sessionId = view.session.id
  if (turn.ended === undefined) {
    const { pending } = view
    const told = pending.map(request => askedNobody(request, { wentOn: false }))
    // Its agent ended with the host that ran it, or was stopped just now.
    const warning = await afterTurn({ project, view, turnId, isLate: true })
    if (warning !== undefined) told.push(notice(sessionId, warning))
    const ending = endOfTurn(turnEnd(sessionId, 'crashed'), pending, crashed(sessionId, STOPPED))
    await recorder.record([...told, ...ending], turnId)
    // Without the end on the disk, the record of the turn is still needed.
    if (!(await recorder.flush())) return { kind: 'closed', turnId, stopped }
  }
  // It is not known how long its agent worked.
  await settleTurn({ project, session: view.session, state, turnId, spent: { ...view.turnCost, ms: 0 } })
  return { kind: 'closed', turnId, stopped }
}

/** A running agent costs money: a host without its harness must neither stop it nor report that its turn is over. */
function unknownHarness(id: HarnessId): HarnessError {
  const message = `A turn of ${id} may be at work here, and this Chirality does not know that harness. Nothing was touched: open the project with one that does.`
  return new HarnessError(message, 'unsupported', id)
}

const STOPPED =
  'Chirality was stopped while this turn was running, and the agent could not be found again. What it did so far is kept; send a message to go on from there.'
