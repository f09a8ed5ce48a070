import type { HarnessTurnOpts, Session, SessionHarness, TurnProcess, UIEvent } from '@chirality/core'
import type { ProjectContext } from '../host/host-context.ts'
import type { SessionView } from '../host/session-view.ts'
import type { TurnRequest } from '../host/turn-request.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { chooseHarness, choosePersona } from './choose.ts'
import type { SessionRecorder } from './session-recorder.ts'
import { StopSignal } from './stop-signal.ts'
import { notice } from './turn-events.ts'
import { planTurn } from './turn-options.ts'
import { type TurnRecord, TurnRecordFile } from './turn-record-file.ts'
import { TurnRows } from './turn-rows.ts'
import { TurnRun, type TurnRunEnd } from './turn-run.ts'

export interface LiveTurnOptions {
  project: ProjectContext
  view: SessionView
  recorder: SessionRecorder
  turnId: string
  message: string
  request: TurnRequest
}

/** A turn that this host started. */
export class LiveTurn {
  readonly turnId: string
  readonly harness: SessionHarness
  /** How it ended; or that we let go of it. Never rejects. */
  readonly done: Promise<TurnRunEnd>
  readonly #sessionId: string
  readonly #run: TurnRun
  readonly #stop: StopSignal

  private constructor(parts: {
    turnId: string
    sessionId: string
    harness: SessionHarness
    run: TurnRun
    stop: StopSignal
  }) {
    this.turnId = parts.turnId
    this.harness = parts.harness
    this.#sessionId = parts.sessionId
    this.#run = parts.run
    this.#stop = parts.stop
    this.done = parts.run.finish().finally(() => parts.stop.release())
  }

  /** Resolves when `turn:start` is on the disk. Rejects for what is wrong before that, and leaves nothing then. */
  static async start(options: LiveTurnOptions): Promise<LiveTurn> {
    const { project, view, recorder, turnId, message, request } = options
    const session = view.session
    const sessionId = session.id
    const persona = await choosePersona(session, project.personas)
    const harness = chooseHarness(session, persona, project.harnesses)
    const decide = project.decider({
      sessionId,
      projectRoot: session.projectRoot,
      persona: session.persona,
      harness: harness.id,
    })
    const native = continuing(session, request)
    const plan = await planTurn({
      ...{ session, persona, harness, personas: project.personas, decide },
      request: { ...request, ...native.request },
    })
    const stop = new StopSignal(request)
    const file = new TurnRecordFile(session.projectRoot, sessionId)
    await file.prepare()
    const tracing = new Tracing(file, {
      ...{ turnId, message, harness: harness.id, startedAt: new Date().toISOString(), processes: [] },
      afterSeq: session.lastSeq,
      ...(request.images?.length ? { attachments: request.images.length } : {}),
      ...(native.session.claudeSessionId === null ? {} : { resumeSessionId: native.session.claudeSessionId }),
    })
    const opts: HarnessTurnOpts = {
      ...plan.opts,
      turnId,
      signal: stop.signal,
      onProcess: process => tracing.add(process),
    }
    const rows = new TurnRows(project.harnessLog, sessionId)
    const record = async (event: UIEvent) => {
      await recorder.record(event, turnId)
      rows.note(event)
    }
    const forked = opts.forkSession === true || native.session === session
    const from: Session = forked ? native.session : { ...session, claudeSessionId: null }
    const run = new TurnRun({
      sessionId,
      open: () => harness.startTurn(from, message, opts),
      record,
      onRetry: async () => tracing.again(view.session.lastSeq),
    })
    project.harnessLog.write(sessionId, {
      ...{ event: 'turn:start', userMessage: message, persona: session.persona, mode: session.mode },
    })
    try {
      tracing.write()
      await run.begin()
    } catch (error) {
      stop.release()
      await file.remove()
      throw error
    }
    for (const warning of plan.warnings) await record(notice(sessionId, warning))
    await recorder.flush()
    return new LiveTurn({ turnId, sessionId, harness, run, stop })
  }

  interrupt(): void {
    this.#run.forbidRetry()
    this.harness.interrupt(this.#sessionId)
  }

  kill(): void {
    this.#run.forbidRetry()
    this.harness.kill(this.#sessionId)
  }

  leave(): void {
    this.#stop.release()
    this.#run.leave()
  }
}

/** Keeps the record of the turn in step with the processes that print for it. */
class Tracing {
  readonly #file: TurnRecordFile
  #record: TurnRecord

  constructor(file: TurnRecordFile, record: TurnRecord) {
    this.#file = file
    this.#record = record
  }

  write(): void {
    this.#file.write(this.#record)
  }

  add(process: TurnProcess): void {
    this.#record = { ...this.#record, processes: [...this.#record.processes, process] }
    this.write()
  }

  /** Another attempt: what the first one printed is in the log up to here. */
  again(afterSeq: number): void {
    this.#record = { ...this.#record, processes: [], afterSeq }
    this.write()
  }
}

/** A fork has no native conversation yet: its first turn branches off from the one it was made of. */
function continuing(
  session: StoredSession,
  request: TurnRequest,
): { session: Session; request: Partial<TurnRequest> } {
  const origin = session.claudeSessionId === null ? session.forkedFrom?.claudeSessionId : null
  if (!origin || request.forkSession !== undefined) return { session, request: {} }
  return { session: { ...session, claudeSessionId: origin }, request: { forkSession: true } }
}
