import type { Todo } from '../events/tool-facts.ts'
import type {
  Envelope,
  PermissionRequestEvent,
  PlanWindow,
  SessionErrorCode,
  StatusEvent,
  StatusKind,
  TurnEndReason,
  UIEvent,
  UsageInfo,
} from '../events/ui-event.ts'
import {
  addCost,
  allTokens,
  type Cost,
  type CostLedger,
  costBetween,
  costSoFar,
  NO_COST,
  sumUsage,
} from '../money/cost.ts'
import { addSpend, type Spend } from '../money/spends.ts'
import { lineOf } from './last-line.ts'

/**
 * The state of a session without its transcript: plain JSON, a few kilobytes for any length of session. Server,
 * dashboard, command line and exports all use this fold; `reduceSession` adds the items of the transcript.
 */
export interface SessionSummary {
  sessionId: string
  /** The last folded `seq`: the cursor to continue after. */
  seq: number
  /** The time of the last event; null before the first. */
  updatedAt: string | null
  phase: SessionPhase
  condition: SessionCondition
  /** The first line of the first message. */
  title: string | null
  agent: AgentFacts
  turnCount: number
  /** The last turn. */
  turn: TurnState | null
  /** How the last completed turn ended; while one runs, the one before it. */
  lastTurn: TurnEndReason | null
  /** The agent's current activity; cleared by the next event. */
  activity: StatusEvent | null
  /** Requests that wait for a decision, oldest first. Empty as soon as the turn has ended. */
  pending: readonly PermissionRequestEvent[]
  /** In the last turn the agent asked while no server was running: it stopped there, or went on without an answer. */
  leftUnanswered: boolean
  /** Why the last turn failed. */
  error: SessionFailure | null
  /** Null if tokens were used whose price is unknown. Never decreases. */
  costUsd: number | null
  /** A part of it is by list price, or has no price. */
  costIsEstimate: boolean
  /** All tokens that models read and wrote, cached or not. Never decreases. */
  tokens: number
  /** The parts of cost and tokens, now and at the beginning of the last turn. */
  ledger: CostLedger
  turnLedger: CostLedger
  /** When it was spent, and on which model. Null if an earlier version folded a part of the log. */
  spends: readonly Spend[] | null
  /** The limits of the user's plan, as the agent last reported them, and when. */
  limits: { at: string; windows: readonly PlanWindow[] } | null
  usage: UsageInfo
  /** The context tokens of the latest model answer of the main conversation. */
  contextTokens: number
  /** The duration of all turns up to the last event, without the time they waited for a person. */
  workedMs: number
  /** The agent's last message or action, in one line. */
  lastLine: string | null
  /** The agent's latest plan; not that of its sub-agents. */
  todos: readonly Todo[]
  /** Native events this version does not know. */
  driftCount: number
}

export type SessionPhase = 'idle' | 'running' | 'waiting'

/**
 * The state of a session in one word. `waiting`: for a decision. `unanswered`: its agent asked while no one could
 * answer. When idle it is how the last turn ended: `stopped` by a person, `limit` for a budget, a timeout or the number
 * of steps, `failed` as the agent reported, `crashed` without a report.
 */
export type SessionCondition =
  | 'new'
  | 'running'
  | 'waiting'
  | 'unanswered'
  | 'done'
  | 'stopped'
  | 'limit'
  | 'failed'
  | 'crashed'

export interface AgentFacts {
  harness: string | null
  nativeSessionId: string | null
  model: string | null
  version: string | null
  permissionMode: string | null
}

export interface TurnState {
  id: string | null
  startedAt: string
  endedAt: string | null
  reason: TurnEndReason | null
  costUsd: number | null
  costIsEstimate: boolean
}

export interface SessionFailure {
  code: SessionErrorCode
  message: string
  /** The variable whose key was refused. */
  credential?: string
}

/** A summary that is being changed; only its fields are replaced, never values inside them. */
export type SummaryDraft = { -readonly [K in keyof SessionSummary]: SessionSummary[K] }

/**
 * Folds envelopes into a summary. Pure. An envelope at or before `summary.seq` is skipped, so overlapping batches are
 * harmless. An event costs the same in a session of ten events and of a million.
 */
export function foldSummary(summary: SessionSummary, envelopes: readonly Envelope[]): SessionSummary {
  let draft: SummaryDraft | undefined
  for (const envelope of envelopes) {
    if (envelope.seq <= (draft ?? summary).seq) continue
    draft ??= { ...summary }
    summarize(draft, envelope)
    draft.seq = envelope.seq
  }
  return draft ?? summary
}

/** Handles the part of an event that is not about an item of the transcript. Changes `draft`. */
export function summarize(
  draft: SummaryDraft,
  { event, at, turnId }: Pick<Envelope, 'event' | 'at' | 'turnId'>,
): void {
  work(draft, event, at)
  spend(draft, event, at)
  draft.pending = nextPending(draft.pending, event)
  draft.lastLine = lineOf(event) ?? draft.lastLine
  draft.todos = todosIn(event) ?? draft.todos
  apply(draft, event, { at, turnId })
  draft.condition = conditionOf(draft)
}

function apply(draft: SummaryDraft, event: UIEvent, { at, turnId }: Pick<Envelope, 'at' | 'turnId'>): void {
  switch (event.type) {
    case 'turn:start':
      draft.phase = 'running'
      draft.activity = null
      draft.error = null
      draft.leftUnanswered = false
      draft.title ??= titleFrom(event.message)
      draft.turnCount += 1
      draft.turnLedger = draft.ledger
      draft.turn = turnFrom(turnId, at)
      return
    case 'turn:end':
      draft.phase = 'idle'
      draft.activity = null
      // If the start is lost, or before the part of the log that is read, the end is still known.
      draft.turn = { ...(draft.turn ?? turnFrom(turnId, at)), endedAt: at, reason: event.reason }
      draft.lastTurn = event.reason
      return
    case 'session:init':
      draft.agent = {
        harness: event.harness ?? draft.agent.harness,
        nativeSessionId: event.claudeSessionId,
        model: event.model,
        version: event.version ?? draft.agent.version,
        permissionMode: event.permissionMode ?? draft.agent.permissionMode,
      }
      // An agent that was started ahead of any turn is ready, not working.
      if (draft.phase === 'idle' && turnId !== null) draft.phase = 'running'
      return
    case 'chat:delta':
    case 'tool:start':
      draft.activity = null
      return
    case 'session:error':
      if (!event.recovered && !isBetweenTurns(draft, turnId)) draft.error = failureOf(event)
      return complete(draft, event.usage)
    case 'session:complete':
      return complete(draft, event.usage)
    case 'permission:request':
      // A kept agent whose guard said no, or that ended with a question: nobody is waited for.
      if (!isBetweenTurns(draft, turnId)) draft.phase = 'waiting'
      return
    case 'permission:resolved':
      if (draft.phase === 'waiting' && draft.pending.length === 0) draft.phase = 'running'
      return
    case 'status':
      return setStatus(draft, event, turnId)
    case 'usage':
      if (event.parentToolUseId === undefined) draft.contextTokens = allTokens(event.usage)
      return
    case 'limits':
      draft.limits = { at, windows: event.windows }
      return
    case 'native:unknown':
      draft.driftCount += 1
      return
  }
}

/**
 * The open requests after an event, decided only here. The end of a turn closes all of them, and so does the start of
 * the next one, for a log that lost the end.
 */
export function nextPending(
  pending: readonly PermissionRequestEvent[],
  event: UIEvent,
): readonly PermissionRequestEvent[] {
  switch (event.type) {
    case 'permission:request':
      // An adopted turn may repeat a request.
      return [...pending.filter(request => request.requestId !== event.requestId), event]
    case 'permission:resolved':
      return pending.filter(request => request.requestId !== event.requestId)
    case 'turn:start':
    case 'turn:end':
      return pending.length === 0 ? pending : []
    default:
      return pending
  }
}

/** The state of a session in one word. `phase` may come from a host, which also knows turns that start and end. */
export function conditionOf(facts: {
  phase: string
  leftUnanswered: boolean
  lastTurn: TurnEndReason | null
}): SessionCondition {
  const { phase, leftUnanswered, lastTurn } = facts
  if (phase === 'waiting') return 'waiting'
  if (phase !== 'idle') return 'running'
  if (leftUnanswered) return 'unanswered'
  return lastTurn === null ? 'new' : ENDED_AS[lastTurn]
}

const ENDED_AS: Readonly<Record<TurnEndReason, SessionCondition>> = {
  completed: 'done',
  interrupted: 'stopped',
  killed: 'stopped',
  timeout: 'limit',
  max_turns: 'limit',
  budget: 'limit',
  failed: 'failed',
  crashed: 'crashed',
}

/** A kept agent speaks after a turn: it counts, but the session rests. */
function isBetweenTurns({ turn, phase }: SummaryDraft, turnId: string | null): boolean {
  return turnId === null && phase === 'idle' && turn !== null
}

function turnFrom(id: string | null, startedAt: string): TurnState {
  return { id, startedAt, endedAt: null, reason: null, costUsd: 0, costIsEstimate: false }
}

function todosIn(event: UIEvent): readonly Todo[] | undefined {
  if ('parentToolUseId' in event && event.parentToolUseId !== undefined) return undefined
  if (event.type === 'status') return event.todos
  return 'facts' in event ? event.facts?.todos : undefined
}

/** The time since the last event, unless the session waited for a person. */
function work(draft: SummaryDraft, event: UIEvent, at: string): void {
  // A gap has the time at which it was read, not the time of its events.
  if (event.type === 'log:gap') return
  const passed = draft.updatedAt === null ? 0 : Date.parse(at) - Date.parse(draft.updatedAt)
  if (draft.phase === 'running' && passed > 0) draft.workedMs += passed
  draft.updatedAt = at
}

function spend(draft: SummaryDraft, event: UIEvent, at: string): void {
  const before = draft.ledger
  const ledger = addCost(before, event)
  if (ledger === before) return
  draft.ledger = ledger
  if (event.type === 'turn:start') return
  const model = (event.type === 'usage' ? event.model : undefined) ?? ledger.model
  if (draft.spends !== null) draft.spends = addSpend(draft.spends, { at, model, before, after: ledger })
  const { usd, isEstimate, tokens } = costSoFar(ledger)
  draft.costUsd = usd
  draft.costIsEstimate = isEstimate
  draft.tokens = tokens
  if (draft.turn === null) return
  const turn = turnCost(draft)
  draft.turn = { ...draft.turn, costUsd: turn.usd, costIsEstimate: turn.isEstimate }
}

/** The cost of the last turn so far; for a log without turns, all of it. The turns of a session add up to its cost. */
export function turnCost({ turnLedger, ledger }: Pick<SessionSummary, 'turnLedger' | 'ledger'>): Cost {
  return costBetween(turnLedger, ledger)
}

function complete(draft: SummaryDraft, usage: UsageInfo | undefined): void {
  draft.activity = null
  // A log that was translated without a turn around it has no `turn:end`.
  if (draft.turnCount === 0) draft.phase = 'idle'
  if (usage !== undefined) draft.usage = sumUsage(draft.usage, usage)
}

function setStatus(draft: SummaryDraft, event: StatusEvent, turnId: string | null): void {
  if (event.status === 'permission_mode' && typeof event.data?.mode === 'string')
    draft.agent = { ...draft.agent, permissionMode: event.data.mode }
  if (isTransient(event) && !isBetweenTurns(draft, turnId))
    draft.activity = event.status === 'idle' ? null : event
  draft.leftUnanswered ||= isLeftUnanswered(event)
  if (event.data?.kind === HOST_NOTICE && isObject(event.data.forkedFrom)) beginFork(draft)
  if (beginsConversation(event)) draft.agent = { ...draft.agent, nativeSessionId: null }
}

/**
 * Everything in a log before the notice of a fork was copied: its conversation, work and cost belong to another
 * session.
 */
function beginFork(draft: SummaryDraft): void {
  const { sessionId, ledger, agent } = draft
  const { costUsd, costIsEstimate, tokens, workedMs, usage } = newSummary(sessionId)
  const nothing = { ...NO_COST, model: ledger.model }
  const spent = { costUsd, costIsEstimate, tokens, ledger: nothing, turnLedger: nothing, spends: [] }
  const reset = { ...spent, workedMs, usage }
  Object.assign(draft, reset, { agent: { ...agent, nativeSessionId: null }, leftUnanswered: false })
}

/** Shown while it lasts; every other status stays in the transcript as one line. */
export function isTransient({ status }: StatusEvent): boolean {
  return TRANSIENT.has(status)
}

const TRANSIENT: ReadonlySet<StatusKind> = new Set([
  'requesting',
  'idle',
  'compacting',
  'stalled',
  'tool_progress',
])

/** `data.kind` of a notice that comes from Chirality itself and not from an agent. */
export const HOST_NOTICE = 'chirality'

/** In `data` of such a notice: the agent asked while no one could answer, and went on, or stopped there. */
export const UNANSWERED = { wentOn: 'wentOnUnanswered', stopped: 'stoppedUnanswered' } as const

/** In `data` of such a notice: the agent's own conversation is not on this machine, so that it begins a new one. */
export const NEW_CONVERSATION = 'newConversation'

export function beginsConversation({ data }: StatusEvent): boolean {
  return data?.kind === HOST_NOTICE && data[NEW_CONVERSATION] === true
}

function isLeftUnanswered({ data }: StatusEvent): boolean {
  return data?.kind === HOST_NOTICE && (data[UNANSWERED.wentOn] === true || data[UNANSWERED.stopped] === true)
}

function failureOf(event: Extract<UIEvent, { type: 'session:error' }>): SessionFailure {
  const { code, error: message, credential } = event
  return credential === undefined ? { code, message } : { code, message, credential }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

const MAX_TITLE_CHARS = 80

/** The first line of the message; null if there is none. */
function titleFrom(message: string): string | null {
  const line = message.trim().split('\n', 1)[0]?.trim() ?? ''
  if (line === '') return null
  return line.length > MAX_TITLE_CHARS ? `${line.slice(0, MAX_TITLE_CHARS - 1).trimEnd()}…` : line
}

export function newSummary(sessionId: string): SessionSummary {
  return {
    sessionId,
    seq: 0,
    updatedAt: null,
    phase: 'idle',
    condition: 'new',
    title: null,
    agent: { harness: null, nativeSessionId: null, model: null, version: null, permissionMode: null },
    turnCount: 0,
    turn: null,
    lastTurn: null,
    activity: null,
    pending: [],
    leftUnanswered: false,
    error: null,
    costUsd: 0,
    costIsEstimate: false,
    tokens: 0,
    ledger: NO_COST,
    turnLedger: NO_COST,
    spends: [],
    limits: null,
    usage: { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    contextTokens: 0,
    workedMs: 0,
    lastLine: null,
    todos: [],
    driftCount: 0,
  }
}
