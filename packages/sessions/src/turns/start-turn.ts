import {
  type HarnessTurnOpts,
  type PermissionMode,
  runTurn,
  type Session,
  type SessionHarness,
  type UIEvent,
} from '@chirality/core'
import type { PersonaConfig } from '@chirality/personas'
import { withAccount } from '@chirality/runner'
import type { SpendingLimit } from '../budget/budget-limits.ts'
import { MINUTE_MS } from '../budget/budget-state.ts'
import { limitsOfTurn, requireBudget, type TurnBudget } from '../budget/limits-of-turn.ts'
import type { AskContext } from '../decisions/ask-context.ts'
import type { CallFolders } from '../decisions/policy/tool-call.ts'
import { writtenAccount } from '../history/written-account.ts'
import { readSessionLog } from '../log/read-log.ts'
import { notice, sharedFolder } from '../log/turn-events.ts'
import { withNotes } from '../queue/agent-notes.ts'
import type { TurnRequest } from '../queue/turn-request.ts'
import type { SessionView } from '../status/session-view.ts'
import { accountNotice, goesOnAfter, isAnsweredAfter } from '../store/fork-history.ts'
import { batchesOfLog } from '../store/fork-log.ts'
import type { ForkOrigin, StoredSession } from '../store/stored-session.ts'
import type { BetweenTurns } from './between-turns.ts'
import type { ProjectContext } from './host-context.ts'
import { LiveTurn } from './live-turn.ts'
import type { SessionRecorder } from './record/session-recorder.ts'
import type { SessionStateFiles } from './record/session-state-files.ts'
import { TurnRecordKeeper } from './record/turn-record.ts'
import { WorktreeSetUp } from './set-up-worktree.ts'
import type { StopSignal } from './stop-signal.ts'
import { allowsOf, chooseHarness, choosePersona, planTurn, type TurnChoice } from './turn-options.ts'
import { TurnRun } from './turn-run.ts'
import { makeWriter, type TurnWriter } from './turn-writer.ts'

export interface StartTurnOptions {
  project: ProjectContext
  view: SessionView
  state: SessionStateFiles
  recorder: SessionRecorder
  betweenTurns: BetweenTurns
  stop: StopSignal
  turnId: string
  message: string
  request: TurnRequest
}

export interface AcceptedTurn {
  turn: LiveTurn
  /**
   * Resolves when `turn:start` is on the disk: only then may a caller report that the turn was accepted. Never rejects.
   */
  stored: Promise<void>
}

/**
 * The agent has its message as soon as this resolves; the sync runs in parallel: a crash of this process loses nothing
 * that was written, and a crash of the machine also ends the agent. Rejects if the turn cannot start; no file or
 * process is left then.
 */
export async function startTurn(options: StartTurnOptions): Promise<AcceptedTurn> {
  const { project, view, state, betweenTurns, turnId, message, request } = options
  const session = view.session
  const ready = beforeTurn(options)
  const prepared = await prepareTurn(view, request, project)
  const { harness } = prepared
  const budget = budgetOf(options, prepared)
  betweenTurns.beside(budget)
  const projectLimits = await project.budget.begin(turnId)
  let writer: TurnWriter
  let started: BegunTurn
  try {
    const sessionLimit = () => sessionLimitOf(view)
    const limits = limitsOfTurn({ budget, sessionLimit, project: projectLimits })
    requireBudget(limits)
    writer = makeWriter({ project, view, recorder: options.recorder, turnId, limits, budget, harness })
    const { persona, mode } = session
    project.harnessLog.write(session.id, { event: 'turn:start', userMessage: message, persona, mode })
    started = await begin(options, { prepared, budget, writer, ready })
  } catch (error) {
    project.budget.forget(turnId)
    await state.record.remove(turnId)
    throw error
  }
  await tellBeginning(options, prepared, writer, await ready)
  const { id: sessionId } = session
  const turn = new LiveTurn({ turnId, sessionId, harness, stop: options.stop, writer, ...started })
  return { turn, stored: writer.flush().catch(() => {}) }
}

/** The notices at the beginning of a turn. Never rejects: a closed log ends the turn itself. */
async function tellBeginning(
  { project, view, request, message }: StartTurnOptions,
  { plan, harness, history }: PreparedTurn,
  writer: TurnWriter,
  warning: string | undefined,
): Promise<void> {
  const { id } = view.session
  const { retryOfTurnId } = request
  const model =
    plan.opts.model ?? view.session.model ?? harness.models().find(({ isDefault }) => isDefault)?.id
  try {
    // An alias has no price; `session:init` brings the model's real name.
    await writer.warn(model && /\d/.test(model) ? model : undefined)
    if (project.budget.problem) await writer.write([notice(id, project.budget.problem)])
    // The other session continued after the fork was made.
    if (history.kind === 'account' && history.forkedFrom && history.forkedFrom.history !== 'account')
      await writer.write([accountNotice(id, history.forkedFrom)])
    if (history.kind === 'account' && message.startsWith('/'))
      await writer.write([
        notice(id, `${message.split(/\s/, 1)[0]} is sent as text and not as a command, behind the account.`),
      ])
    for (const text of [...plan.warnings, ...(warning === undefined ? [] : [warning])])
      await writer.write([notice(id, text)])
    const untrusted = plan.trust && project.trust.untold(id, plan.trust)
    if (untrusted) await writer.write([notice(id, untrusted, { trust: 'agent-files' })])
    const others = project.othersAtWork(id)
    if (others.length > 0) await writer.write([sharedFolder(id, others)])
    if (retryOfTurnId)
      await writer.write([notice(id, 'This turn repeats an earlier one.', { retryOfTurnId })])
  } catch {
    // The next event fails in the same way, and the agent is stopped.
  }
}

interface BegunTurn {
  run: TurnRun
  record: TurnRecordKeeper
  setUp?: WorktreeSetUp
}

function beforeTurn({ project, view, turnId, stop }: StartTurnOptions): Promise<string | undefined> {
  const { id: sessionId, projectRoot } = view.session
  const workFolder = view.folders.workFolder ?? projectRoot
  return project.beforeTurn({ sessionId, turnId, projectRoot, workFolder, signal: stop.signal })
}

async function begin(
  options: StartTurnOptions,
  turn: { prepared: PreparedTurn; budget: TurnBudget; writer: TurnWriter; ready: Promise<unknown> },
): Promise<BegunTurn> {
  const { view, state, turnId, message, stop } = options
  const { prepared, writer } = turn
  const { id: sessionId } = view.session
  const { spools, agents, notes } = state
  await state.prepare()
  const record = makeRecord(options, turn)
  const { history } = prepared
  const account = history.kind === 'own' ? undefined : await accountOf(view.session)
  // A command would become text behind them: they wait for the next message.
  const untold = message.startsWith('/') ? [] : await notes.read()
  const noted = withNotes(untold, message)
  const sent = history.kind === 'account' && account !== undefined ? withAccount(account, noted) : noted
  const opts: HarnessTurnOpts = {
    ...prepared.plan.opts,
    turnId,
    signal: stop.signal,
    ...(history.kind === 'branch' ? { account } : {}),
    onBetweenTurns: events => options.betweenTurns.take(events),
    onProcess: process => {
      spools.add({ turnId, harness: prepared.harness.id }, process)
      record.add(process)
      agents.add(process)
    },
  }
  const asLogged = (event: UIEvent): UIEvent[] => {
    // The user's message is in the log.
    if (event.type === 'turn:start') return [{ ...event, message }]
    const isUncut = event.type === 'status' && event.status === 'resume_failed'
    return isUncut && history.kind === 'branch'
      ? [event, accountNotice(sessionId, history.forkedFrom)]
      : [event]
  }
  await turn.ready
  const { setUp, variables } = await WorktreeSetUp.of({
    project: options.project,
    view,
    context: prepared.context,
    signal: stop.signal,
    mayAsk: opts.permissionMode !== 'dontAsk',
  })
  const ask = (env: Record<string, string>) =>
    prepared.harness.startTurn(prepared.from, sent, {
      ...opts,
      ...(Object.keys(env).length === 0 ? {} : { env: { ...opts.env, ...env } }),
    })
  const { images } = options.request
  // The agent has them: a turn does not end because they cannot be shown again.
  if (images?.length) await state.images.keep(turnId, images).catch(() => {})
  const start = { message, ...(images?.length ? { attachments: images.length } : {}) }
  const forgetNotes = async () => {
    if (untold.length > 0) await notes.forget(untold)
  }
  const run = new TurnRun({
    sessionId,
    run: (take, attempt) =>
      setUp !== undefined && attempt === 1
        ? // Told twice is better than a turn that ends because a file cannot be removed.
          setUp.before({ take, start }, ask, () => forgetNotes().catch(() => {}))
        : runTurn(ask(setUp?.variables ?? variables), take),
    asLogged: events => events.flatMap(asLogged),
    stored: writer.stages,
    record: events => writer.write(events),
    onRetry: async () => record.again(view.session.lastSeq),
    endAs: () => (writer.overBudget ? 'budget' : undefined),
  })
  record.write()
  await run.begin()
  // With a set-up the agent has not been asked yet, and a stop would lose them.
  if (setUp === undefined) await forgetNotes()
  return { run, record, ...(setUp === undefined ? {} : { setUp }) }
}

export interface PreparedTurn {
  harness: SessionHarness
  /** Who asks, in requests of this turn. */
  context: AskContext
  persona: PersonaConfig | null
  plan: TurnChoice
  /** The conversation that the harness resumes. */
  from: Session
  history: TurnHistory
}

/** Everything that is decided before a turn starts. */
export async function prepareTurn(
  view: SessionView,
  request: TurnRequest,
  project: ProjectContext,
): Promise<PreparedTurn> {
  const { personas, harnesses, consent } = project
  const { session, folders } = view
  project.leaving.require(session.id)
  if (view.worktree) await project.worktrees.require(view.worktree.id)
  const chosen = await choosePersona(session, consent)
  const persona = chosen?.persona ?? null
  const harness = chooseHarness(session, persona, harnesses)
  const { id: sessionId, projectRoot } = session
  const context = { sessionId, ...folders, persona: session.persona, harness: harness.id }
  const { decisionTimeoutMs: timeoutMs } = request
  const asking: AskContext = {
    ...context,
    ...allowsOf(request, persona, harness),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  const decide = project.decider(asking)
  const guard = (mode: PermissionMode) => project.guard(context, mode)
  const history: TurnHistory =
    request.forkSession === undefined ? await historyOf(session, harness, project) : { kind: 'own' }
  const asked = history.kind === 'branch' ? { ...request, forkSession: true } : request
  const trust = harness.projectFiles ? await project.trust.state(projectRoot, folders.workFolder) : undefined
  const toolServers = project.toolServers.forTurn(projectRoot, session.persona, sessionId)
  const { workFolder } = folders
  const parts = { session, persona: chosen, harness, personas, workFolder, decide, guard, trust, toolServers }
  const cage = project.cages.get(projectRoot)
  const plan = await planTurn({ ...parts, cage, request: asked })
  if (history.kind === 'branch' && history.at !== undefined) plan.opts.forkAt = history.at
  return {
    harness,
    context: asking,
    persona,
    plan,
    history,
    from: withWorkFolder({ ...session, claudeSessionId: nativeIdOf(session, history) }, folders),
  }
}

/** The session as a harness gets it. */
export function withWorkFolder(session: Session, { workFolder }: CallFolders): Session {
  return workFolder === undefined ? session : { ...session, workFolder }
}

function nativeIdOf({ claudeSessionId }: StoredSession, history: TurnHistory): string | null {
  if (history.kind === 'own') return claudeSessionId
  return history.kind === 'branch' ? history.nativeSessionId : null
}

function budgetOf({ view, request }: StartTurnOptions, { persona }: PreparedTurn): TurnBudget {
  return {
    session: view.spent,
    turnLimit: { usd: request.maxBudgetUsd, tokens: request.maxBudgetTokens },
    personaLimit: {
      usd: persona?.budgetUsd,
      tokens: persona?.budgetTokens,
      ms: toMs(persona?.budgetMinutes),
    },
  }
}

export function sessionLimitOf({ settings }: SessionView): SpendingLimit {
  const { budgetUsd, budgetTokens, budgetMinutes } = settings
  return { usd: budgetUsd, tokens: budgetTokens, ms: toMs(budgetMinutes) }
}

function toMs(minutes: number | undefined): number | undefined {
  return minutes === undefined ? undefined : minutes * MINUTE_MS
}

function makeRecord(
  options: StartTurnOptions,
  { prepared, budget }: { prepared: PreparedTurn; budget: TurnBudget },
): TurnRecordKeeper {
  const { view, state, turnId, message, request } = options
  const { lastSeq } = view.session
  const { claudeSessionId } = prepared.from
  return new TurnRecordKeeper(state.record, {
    turnId,
    message,
    harness: prepared.harness.id,
    processes: [],
    afterSeq: lastSeq,
    budget,
    startedAt: new Date().toISOString(),
    ...(request.images?.length ? { attachments: request.images.length } : {}),
    ...(request.decisionTimeoutMs === undefined ? {} : { decisionTimeoutMs: request.decisionTimeoutMs }),
    ...(claudeSessionId === null ? {} : { resumeSessionId: claudeSessionId }),
  })
}

/**
 * What the agent of a turn resumes. `own`: the session's conversation, or none. `branch`: the conversation that the
 * session was forked from, all of it or up to `at`. `account`: no conversation; the prompt contains a transcript. Without
 * `forkedFrom` the agent's own conversation stayed on another machine.
 */
type TurnHistory =
  | { kind: 'own' }
  | { kind: 'branch'; nativeSessionId: string; at?: string; forkedFrom: ForkOrigin }
  | { kind: 'account'; forkedFrom?: ForkOrigin }

/** Decided again before each turn until the agent has answered: the other session may have continued since the fork. */
async function historyOf(
  session: StoredSession,
  harness: SessionHarness,
  { store }: ProjectContext,
): Promise<TurnHistory> {
  const { forkedFrom, claudeSessionId, accountUpTo = 0 } = session
  const since = Math.max(forkedFrom?.seq ?? 0, accountUpTo)
  if (forkedFrom === null && accountUpTo === 0) return OWN
  const isTaken = claudeSessionId !== null && (await ask(session, log => isAnsweredAfter(log, since)))
  if (isTaken) return OWN
  if (forkedFrom === null || accountUpTo > forkedFrom.seq) return { kind: 'account' }
  const branch = forkedFrom.history === 'account' ? undefined : await branchOf(session, harness, store)
  if (branch !== undefined) return branch
  return session.turnCount > 0 ? { kind: 'account', forkedFrom } : OWN
}

/** Undefined if the agent cannot resume the conversation as it was at the fork. */
async function branchOf(
  { forkedFrom, harness: agent }: StoredSession,
  harness: SessionHarness,
  store: ProjectContext['store'],
): Promise<TurnHistory | undefined> {
  const { supportsFork, supportsForkAt } = harness.capabilities()
  const isSameAgent = agent === null || agent === harness.id
  if (!forkedFrom?.claudeSessionId || !isSameAgent || !supportsFork) return undefined
  const { claudeSessionId: nativeSessionId, sessionId, seq, point } = forkedFrom
  const branch = { kind: 'branch', nativeSessionId, forkedFrom } as const
  if (forkedFrom.history !== 'cut') {
    const source = await store.get(sessionId)
    const isWhole = source && (await ask(source, log => log.lastSeq >= seq && !goesOnAfter(log, seq)))
    if (isWhole) return branch
  }
  return point !== undefined && supportsForkAt ? { ...branch, at: point } : undefined
}

/** A transcript of the session as it is shown. */
async function accountOf({ projectRoot, id }: StoredSession): Promise<string | undefined> {
  const log = await readSessionLog(projectRoot, id)
  try {
    return log && (await writtenAccount(batchesOfLog(log, log.lastSeq)))
  } finally {
    log?.close()
  }
}

const OWN: TurnHistory = { kind: 'own' }

type Log = NonNullable<Awaited<ReturnType<typeof readSessionLog>>>

async function ask({ projectRoot, id }: StoredSession, question: (log: Log) => boolean): Promise<boolean> {
  const log = await readSessionLog(projectRoot, id)
  try {
    return log !== undefined && question(log)
  } finally {
    log?.close()
  }
}
