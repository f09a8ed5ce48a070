import { stat } from 'node:fs/promises'
import {
  type PermissionRequestEvent,
  runTurn,
  type SessionHarness,
  type TurnEndReason,
  type TurnProcess,
  type UIEvent,
} from '@chirality/core'
import { limitsOfTurn } from '../budget/limits-of-turn.ts'
import { faultRow } from '../harness-log/rows.ts'
import type { SessionLog } from '../log/session-log.ts'
import { askedNobody, unansweredNote } from '../log/turn-events.ts'
import type { AgentNotes } from '../queue/agent-notes.ts'
import type { SessionView } from '../status/session-view.ts'
import type { ProjectContext } from '../turns/host-context.ts'
import { LiveTurn } from '../turns/live-turn.ts'
import type { SessionRecorder } from '../turns/record/session-recorder.ts'
import type { SessionStateFiles } from '../turns/record/session-state-files.ts'
import { type TurnRecord, TurnRecordKeeper } from '../turns/record/turn-record.ts'
import { sessionLimitOf, withWorkFolder } from '../turns/start-turn.ts'
import { StopSignal } from '../turns/stop-signal.ts'
import { TurnRun } from '../turns/turn-run.ts'
import { makeWriter, type TurnWriter } from '../turns/turn-writer.ts'
import { EventMatcher } from './match-events.ts'
import { eventsOfTurn } from './turns-in-log.ts'

export interface AdoptOptions {
  project: ProjectContext
  view: SessionView
  state: SessionStateFiles
  recorder: SessionRecorder
  log: SessionLog
  record: TurnRecord
  harness: AdoptingHarness
  /** The turn's events in the log; undefined if not even its beginning is there. */
  logged: { ended: TurnEndReason | undefined; startedAt: string } | undefined
}

export type AdoptingHarness = SessionHarness & Required<Pick<SessionHarness, 'adoptTurn'>>

export function canAdopt(harness: SessionHarness | undefined): harness is AdoptingHarness {
  return harness?.adoptTurn !== undefined
}

/** Continues a turn of a host that has exited: adds the events that the log lacks, and the agent's new ones. */
export async function adoptTurn(options: AdoptOptions): Promise<LiveTurn> {
  const { project, view, state, log, record, harness, logged } = options
  const { id: sessionId } = view.session
  // A budget that is used up by now stops the turn at its next safe point; it must not prevent the adoption.
  const { turnId, budget } = record
  const sessionLimit = () => sessionLimitOf(view)
  const limits = limitsOfTurn({ budget, sessionLimit, project: await project.budget.limitsFor(turnId) })
  const processes = [...record.processes]
  const writer = makeWriter({
    project,
    view,
    recorder: options.recorder,
    turnId: record.turnId,
    limits,
    budget: record.budget,
    harness,
    isLate: saysNothingSince(Date.now(), () => processes),
  })
  await state.prepare()
  const keeper = new TurnRecordKeeper(state.record, record)
  const stop = new StopSignal({})
  const opts = {
    decide: decideOf(view, record, { harness, project }),
    signal: stop.signal,
    onProcess: (process: TurnRecord['processes'][number]) => {
      processes.push(process)
      state.spools.add({ turnId: record.turnId, harness: harness.id }, process)
      keeper.add(process)
    },
  }
  const stored = { ...view.session, claudeSessionId: record.resumeSessionId ?? null }
  const session = withWorkFolder(stored, view.folders)
  const tellMissing = logged?.ended === undefined ? missing : missingAfterEnd
  view.resume(record.turnId, logged)
  const run = new TurnRun({
    sessionId,
    run: async take => {
      const isMissing = tellMissing(eventsOfTurn(log, record), writer)
      const notes = harness.capabilities().asksAgain ? undefined : state.notes
      const onFault = (error: unknown) => project.harnessLog.write(sessionId, faultRow(error))
      const unanswered = new Unanswered(view.pending, { notes, onFault })
      await runTurn(harness.adoptTurn(session, record, opts), async batch => {
        const events = batch.flatMap(isMissing).flatMap(event => unanswered.tell(event))
        // Before the events: once the log has the end of the turn, nobody looks for the request again.
        await unanswered.note()
        await take(events)
      })
      await take(unanswered.end())
    },
    stored: writer.stages,
    record: events => writer.write(events),
    known: { message: record.message, started: logged !== undefined, ended: logged?.ended },
    endAs: () => (writer.overBudget ? 'budget' : undefined),
  })
  return new LiveTurn({ turnId: record.turnId, sessionId, harness, run, stop, writer, record: keeper })
}

/** Whether the agent printed nothing since this time: it may have come to rest before. */
function saysNothingSince(at: number, processes: () => readonly TurnProcess[]): () => Promise<boolean> {
  return async () => {
    const printed = await Promise.all(
      processes().map(({ spoolPath }) =>
        stat(spoolPath).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      ),
    )
    return printed.every(time => time < at)
  }
}

type Step = (event: UIEvent) => UIEvent[]

function missing(logged: Iterable<UIEvent>, writer: TurnWriter): Step {
  const matcher = new EventMatcher(logged)
  return event => {
    const rest = matcher.missing(event)
    if (rest !== undefined) return [rest]
    writer.pass(event)
    return []
  }
}

/**
 * The log has the end of the turn, and so all of it but the exit of its process. The events that the harness restores
 * for such a turn are not compared: its notes may be deleted by now, and every event with a small difference would be
 * written twice.
 */
function missingAfterEnd(logged: Iterable<UIEvent>, writer: TurnWriter): Step {
  let hasExit = false
  for (const event of logged) {
    writer.pass(event)
    hasExit ||= event.type === 'process:exit'
  }
  return event => (event.type === 'process:exit' && !hasExit ? [event] : [])
}

/** A request that ended without an answer gets its real outcome: the agent went on, or stopped there. */
class Unanswered {
  readonly #open: Map<string, PermissionRequestEvent>
  /** From such an end on, until the agent reports the result. */
  #held: UIEvent[] = []
  /** Requests at which the agent stopped. It may not know that nobody answered. */
  #stoppedAt: PermissionRequestEvent[] = []
  readonly #notes: AgentNotes | undefined
  readonly #onFault: (error: unknown) => void

  /** Without notes for an agent that asks again by itself. */
  constructor(
    pending: readonly PermissionRequestEvent[],
    { notes, onFault }: { notes: AgentNotes | undefined; onFault: (error: unknown) => void },
  ) {
    this.#notes = notes
    this.#onFault = onFault
    this.#open = new Map(pending.map(request => [request.requestId, request]))
  }

  tell(event: UIEvent): UIEvent[] {
    if (event.type === 'permission:request') this.#open.set(event.requestId, event)
    const isCancelled = event.type === 'permission:resolved' && event.outcome === 'cancelled'
    // The failure of the call says nothing: it fails in both cases.
    const saysNothing = event.type === 'status' || (event.type === 'tool:result' && event.isError)
    if (isCancelled || (this.#held.length > 0 && saysNothing)) {
      this.#held.push(event)
      return []
    }
    const wentOn = event.type === 'turn:end' ? event.reason === 'completed' : event.type !== 'session:error'
    const told = this.end().flatMap(earlier => {
      const request = earlier.type === 'permission:resolved' ? this.#open.get(earlier.requestId) : undefined
      if (request === undefined) return [earlier]
      if (!wentOn) this.#stoppedAt.push(request)
      return [askedNobody(request, { wentOn }), earlier]
    })
    return [...told, event]
  }

  /** With its next message the agent is told what it asked, so that it can ask again. A full disk must not end the turn. */
  async note(): Promise<void> {
    const untold = this.#stoppedAt.splice(0).map(unansweredNote)
    if (untold.length === 0 || this.#notes === undefined) return
    try {
      const known = await this.#notes.read()
      for (const note of untold) if (!known.includes(note)) await this.#notes.add(note)
    } catch (error) {
      this.#onFault(error)
    }
  }

  end(): UIEvent[] {
    return this.#held.splice(0)
  }
}

function decideOf(
  { session: { id, persona }, folders }: SessionView,
  { decisionTimeoutMs: timeoutMs }: TurnRecord,
  { harness, project }: Pick<AdoptOptions, 'harness' | 'project'>,
) {
  if (!harness.capabilities().supportsDecisions) return undefined
  const context = { sessionId: id, ...folders, persona, harness: harness.id }
  return project.decider(timeoutMs === undefined ? context : { ...context, timeoutMs })
}
