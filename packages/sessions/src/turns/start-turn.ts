import type { HarnessTurnOpts, Session, SessionHarness } from '@chirality/core'
import type { PersonaConfig } from '@chirality/personas'
import { limitsOfTurn, requireBudget, type TurnBudget } from '../budget/limits-of-turn.ts'
import type { ProjectContext } from '../host/host-context.ts'
import type { SessionView } from '../host/session-view.ts'
import type { TurnRequest } from '../host/turn-request.ts'
import type { StoredSession } from '../store/stored-session.ts'
import { chooseHarness, choosePersona } from './choose.ts'
import { LiveTurn } from './live-turn.ts'
import { makeWriter } from './make-writer.ts'
import type { SessionRecorder } from './session-recorder.ts'
import type { StopSignal } from './stop-signal.ts'
import { notice } from './turn-events.ts'
import { planTurn, type TurnPlan } from './turn-options.ts'
import { TurnRecordKeeper } from './turn-record.ts'
import { TurnRecordFile } from './turn-record-file.ts'
import { TurnRun } from './turn-run.ts'

export interface StartTurnOptions {
  project: ProjectContext
  view: SessionView
  recorder: SessionRecorder
  stop: StopSignal
  turnId: string
  message: string
  request: TurnRequest
}

/** Resolves when `turn:start` is on the disk. Rejects for what is wrong before that, and leaves nothing then. */
export async function startTurn(options: StartTurnOptions): Promise<LiveTurn> {
  const { project, view, turnId, message, request } = options
  const session = view.session
  const prepared = await prepareTurn(session, request, project)
  const { harness } = prepared
  const budget = budgetOf(options, prepared)
  await project.budget.requireIteration()
  const limits = await limitsOfTurn(turnId, budget, project.budget)
  requireBudget(limits)
  const writer = makeWriter({ project, view, recorder: options.recorder, turnId, limits, harness })
  const record = await makeRecord(options, { prepared, budget })
  const opts: HarnessTurnOpts = {
    ...prepared.plan.opts,
    ...{ turnId, signal: options.stop.signal },
    onProcess: process => record.add(process),
  }
  const run = new TurnRun({
    sessionId: session.id,
    open: () => harness.startTurn(prepared.from, message, opts),
    record: event => writer.write(event),
    onRetry: async () => record.again(view.session.lastSeq),
    endAs: () => (writer.overBudget ? 'budget' : undefined),
  })
  const { persona, mode } = session
  project.harnessLog.write(session.id, { event: 'turn:start', userMessage: message, persona, mode })
  try {
    record.write()
    await run.begin()
  } catch (error) {
    project.budget.forget(turnId)
    await new TurnRecordFile(session.projectRoot, session.id).remove()
    throw error
  }
  for (const text of prepared.plan.warnings) await writer.write(notice(session.id, text))
  const { retryOfTurnId } = request
  if (retryOfTurnId)
    await writer.write(notice(session.id, 'This turn repeats an earlier one.', { retryOfTurnId }))
  await writer.flush()
  const { id: sessionId } = session
  return new LiveTurn({ turnId, sessionId, harness, run, stop: options.stop, writer, record })
}

export interface PreparedTurn {
  harness: SessionHarness
  persona: PersonaConfig | null
  plan: TurnPlan
  /** What the harness goes on from. */
  from: Session
}

/** Everything about a turn that is decided before it starts. */
export async function prepareTurn(
  session: StoredSession,
  request: TurnRequest,
  project: ProjectContext,
): Promise<PreparedTurn> {
  const { personas, harnesses } = project
  const persona = await choosePersona(session, personas)
  const harness = chooseHarness(session, persona, harnesses)
  const { id: sessionId, projectRoot } = session
  const decide = project.decider({ sessionId, projectRoot, persona: session.persona, harness: harness.id })
  // A fork has no conversation of its own yet: its first turn branches off from the one it was made of.
  const origin = session.claudeSessionId === null ? (session.forkedFrom?.claudeSessionId ?? null) : null
  const branches = origin !== null && request.forkSession === undefined
  const asked = branches ? { ...request, forkSession: true } : request
  const plan = await planTurn({ session, persona, harness, personas, decide, request: asked })
  const from = branches && plan.opts.forkSession ? { ...session, claudeSessionId: origin } : session
  return { harness, persona, plan, from }
}

function budgetOf({ view, request }: StartTurnOptions, { persona }: PreparedTurn): TurnBudget {
  const { costUsd, settings } = view.session
  return {
    sessionUsd: costUsd,
    turnLimitUsd: request.maxBudgetUsd,
    sessionLimitUsd: settings.budgetUsd,
    personaLimitUsd: persona?.budgetUsd,
  }
}

async function makeRecord(
  options: StartTurnOptions,
  { prepared, budget }: { prepared: PreparedTurn; budget: TurnBudget },
): Promise<TurnRecordKeeper> {
  const { view, turnId, message, request } = options
  const { id, projectRoot, lastSeq } = view.session
  const { claudeSessionId } = prepared.from
  const file = new TurnRecordFile(projectRoot, id)
  await file.prepare()
  return new TurnRecordKeeper(file, {
    ...{ turnId, message, harness: prepared.harness.id, processes: [], afterSeq: lastSeq, budget },
    startedAt: new Date().toISOString(),
    ...(request.images?.length ? { attachments: request.images.length } : {}),
    ...(claudeSessionId === null ? {} : { resumeSessionId: claudeSessionId }),
  })
}
