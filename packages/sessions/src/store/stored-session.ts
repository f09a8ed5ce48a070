import {
  type AgentFacts,
  type CostLedger,
  conditionOf,
  costSoFar,
  type HarnessId,
  NO_COST,
  newSummary,
  SESSION_MODES,
  type Session,
  type SessionFailure,
  type SessionMode,
  type SessionPhase,
  type SessionSummary,
  type Spend,
  type Todo,
  type TurnEndReason,
  type TurnState,
} from '@chirality/core'
import { isSessionId } from '../files/session-id.ts'
import { isSound, isUsage } from '../log/envelope-line.ts'
import { parseSettings, type SessionSettings } from './session-settings.ts'

/** A session as it is stored in `sessions/<id>.json`. A cache: it can be rebuilt from the log. */
export interface StoredSession extends Session {
  title: string | null
  harness: HarnessId | null
  model: string | null
  status: SessionPhase
  /** How the last turn ended. */
  lastTurn: TurnEndReason | null
  /** In the last turn the agent asked while no server was running: it stopped there, or went on without an answer. */
  leftUnanswered: boolean
  turnCount: number
  /** Null if tokens were used whose price is unknown. Never decreases. */
  costUsd: number | null
  /** A part of it is by list price, or has no price. */
  costIsEstimate: boolean
  /** All tokens that models read and wrote, cached or not. */
  tokens: number
  /** The duration of all turns, without the time they waited for a person. */
  workedMs: number
  /** The parts of cost and tokens, so that the log need not be read again. */
  ledger: CostLedger
  /** The last `seq` of the log that is included. */
  lastSeq: number
  /** The rest of the summary, so that the fold can continue from here without reading the log again. */
  progress: SessionProgress
  forkedFrom: ForkOrigin | null
  /**
   * The last event that the agent's own conversation lacks, because it stayed on another machine: until the agent has
   * answered after it, a message carries a written account.
   */
  accountUpTo?: number
  /**
   * The id of the worktree that the agent works in; null for the project's folder. Only the id: this file can come with
   * a clone, and the user's own records say which folder it is.
   */
  worktree: string | null
  settings: SessionSettings
  shelf: Shelf
}

/** Where a person put the session: on top of the lists, or out of them. Null is neither. */
export type Shelf = (typeof SHELVES)[number] | null

export const SHELVES = ['pinned', 'archived'] as const

export type SessionProgress = Pick<SessionSummary, (typeof PROGRESS)[number]> &
  Pick<AgentFacts, 'version' | 'permissionMode'>

const PROGRESS = [
  ...(['turn', 'turnLedger', 'activity', 'pending', 'error', 'usage'] as const),
  ...(['spends', 'limits'] as const),
  ...(['contextTokens', 'lastLine', 'todos', 'driftCount'] as const),
] as const

/** The summary that core folds, as it was when the session was stored. */
export function sessionSummary(session: StoredSession): SessionSummary {
  const { id, lastSeq, updatedAt, status, title, turnCount, leftUnanswered, lastTurn } = session
  const { costUsd, costIsEstimate, tokens, ledger, workedMs, progress } = session
  const { version, permissionMode, ...rest } = progress
  return {
    sessionId: id,
    seq: lastSeq,
    updatedAt,
    phase: status,
    title,
    turnCount,
    leftUnanswered,
    lastTurn,
    condition: conditionOf({ phase: status, leftUnanswered, lastTurn }),
    agent: {
      harness: session.harness,
      nativeSessionId: session.claudeSessionId,
      model: session.model,
      version,
      permissionMode,
    },
    costUsd,
    costIsEstimate,
    tokens,
    ledger,
    workedMs,
    ...rest,
  }
}

export function withSummary(session: StoredSession, summary: SessionSummary): StoredSession {
  const { agent, title, turnCount, leftUnanswered } = summary
  const { costUsd, costIsEstimate, tokens, ledger, workedMs } = summary
  return {
    ...session,
    title,
    turnCount,
    leftUnanswered,
    costUsd,
    costIsEstimate,
    tokens,
    ledger,
    workedMs,
    claudeSessionId: agent.nativeSessionId,
    harness: agent.harness,
    model: agent.model,
    status: summary.phase,
    lastSeq: summary.seq,
    updatedAt: summary.updatedAt ?? session.updatedAt,
    lastTurn: summary.lastTurn,
    progress: progressOf(summary),
  }
}

export interface ForkOrigin {
  sessionId: string
  seq: number
  /** The agent's own id of the forked conversation; a harness that can fork starts from it. */
  claudeSessionId: string | null
  /** The point at which the agent can cut that conversation, if it reported one. */
  point?: string
  /**
   * What the agent of the fork gets: the whole conversation, if the fork is at its end; the conversation up to `point`;
   * or a transcript. If the other session continues before the fork's first turn, `whole` is cut too.
   */
  history?: ForkHistory
}

export type ForkHistory = (typeof FORK_HISTORIES)[number]

const FORK_HISTORIES = ['whole', 'cut', 'account'] as const

function progressOf(summary: SessionSummary): SessionProgress {
  const { version, permissionMode } = summary.agent
  const rest = Object.fromEntries(PROGRESS.map(name => [name, summary[name]])) as Omit<
    SessionProgress,
    keyof AgentFacts
  >
  return { ...rest, version, permissionMode }
}

const NO_PROGRESS: SessionProgress = progressOf(newSummary(''))

/** The state of a session without any turn. */
const NOTHING_SPENT = { costUsd: 0, costIsEstimate: false, tokens: 0, ledger: NO_COST, workedMs: 0 }

export interface SessionStart {
  id: string
  projectRoot: string
  persona: string | null
  mode: SessionMode
  createdAt: string
  title?: string | null
  harness?: HarnessId | null
  model?: string | null
  settings?: SessionSettings
  shelf?: Shelf
  worktree?: string | null
}

export function newSession(start: SessionStart): StoredSession {
  return {
    id: start.id,
    createdAt: start.createdAt,
    updatedAt: start.createdAt,
    projectRoot: start.projectRoot,
    persona: start.persona,
    mode: start.mode,
    claudeSessionId: null,
    title: start.title ?? null,
    harness: start.harness ?? null,
    model: start.model ?? null,
    status: 'idle',
    lastTurn: null,
    leftUnanswered: false,
    turnCount: 0,
    ...NOTHING_SPENT,
    lastSeq: 0,
    progress: NO_PROGRESS,
    forkedFrom: null,
    worktree: start.worktree ?? null,
    settings: start.settings ?? {},
    shelf: start.shelf ?? null,
  }
}

/**
 * The session in a file, or undefined if it is invalid. The fields of the specification must be valid; others may be
 * missing, because another program may have written the file. The project is the folder of the file, also after a move.
 */
export function parseSession(
  text: string,
  place: { id: string; projectRoot: string },
): StoredSession | undefined {
  const value = parseObject(text)
  if (value === undefined || value.id !== place.id || !isSessionId(value.id)) return undefined
  const { createdAt, updatedAt, persona, mode, claudeSessionId } = value
  if (!isTime(createdAt) || !isTime(updatedAt) || !isMode(mode)) return undefined
  if (!isNullableText(persona) || !isNullableText(claudeSessionId)) return undefined
  const cost = parseCost(value)
  return {
    id: place.id,
    createdAt,
    updatedAt,
    projectRoot: place.projectRoot,
    persona,
    mode,
    claudeSessionId,
    title: textOrNull(value.title),
    harness: textOrNull(value.harness),
    model: textOrNull(value.model),
    status: value.status === 'running' || value.status === 'waiting' ? value.status : 'idle',
    lastTurn: textOrNull(value.lastTurn) as TurnEndReason | null,
    leftUnanswered: value.leftUnanswered === true,
    turnCount: count(value.turnCount),
    ...cost,
    lastSeq: count(value.lastSeq),
    progress: parseProgress(value.progress, cost.ledger),
    forkedFrom: parseFork(value.forkedFrom),
    ...(count(value.accountUpTo) > 0 ? { accountUpTo: count(value.accountUpTo) } : {}),
    worktree: textOrNull(value.worktree),
    settings: parseSettings(value.settings),
    shelf: parseShelf(value.shelf),
  }
}

export function parseShelf(value: unknown): Shelf {
  return SHELVES.find(known => known === value) ?? null
}

export function formatSession(session: StoredSession): string {
  return `${JSON.stringify(session, null, 2)}\n`
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A file of an earlier version has only the sum. */
export function parseCost(value: Record<string, unknown>): Pick<StoredSession, keyof typeof NOTHING_SPENT> {
  const known = amount(value.costUsd)
  const ledger = parseLedger(value.ledger) ?? { ...NO_COST, statedUsd: known ?? 0, highUsd: known ?? 0 }
  const { usd: costUsd, isEstimate: costIsEstimate, tokens } = costSoFar(ledger)
  return { costUsd, costIsEstimate, tokens, ledger, workedMs: amount(value.workedMs) ?? 0 }
}

function parseLedger(value: unknown): CostLedger | undefined {
  if (!isRecord(value)) return undefined
  const numbers = Object.entries(NO_COST).flatMap(([name, none]) =>
    typeof none === 'number' ? [[name, amount(value[name]) ?? none]] : [],
  )
  return { ...NO_COST, ...Object.fromEntries(numbers), model: textOrNull(value.model) ?? '' }
}

/** A file of an earlier version has none, and one that another program wrote may have any value. */
function parseProgress(value: unknown, ledger: CostLedger): SessionProgress {
  const stored = isRecord(value) ? value : {}
  const { pending, activity, error, usage, spends, limits } = stored
  const nothingSpent = ledger.highUsd === 0 && ledger.highTokens === 0
  return {
    turn: parseTurn(stored.turn) ?? null,
    turnLedger: parseLedger(stored.turnLedger) ?? ledger,
    activity: isSound('status', activity) ? activity : null,
    pending: Array.isArray(pending) ? pending.filter(request => isSound('permission:request', request)) : [],
    error: isRecord(error) ? parseFailure(error) : null,
    usage: isUsage(usage) ? usage : NO_PROGRESS.usage,
    spends: Array.isArray(spends) ? spends.filter(isSpend) : nothingSpent ? [] : null,
    limits: isRecord(limits) ? parseLimits(limits) : null,
    contextTokens: count(stored.contextTokens),
    lastLine: textOrNull(stored.lastLine),
    todos: Array.isArray(stored.todos) ? stored.todos.filter(isTodo) : [],
    driftCount: count(stored.driftCount),
    version: textOrNull(stored.version),
    permissionMode: textOrNull(stored.permissionMode),
  }
}

function isSpend(value: unknown): value is Spend {
  if (!isRecord(value) || typeof value.model !== 'string') return false
  const { slot, usd, statedUsd, tokens, unpricedTokens } = value
  return [slot, usd, statedUsd, tokens, unpricedTokens].every(Number.isFinite)
}

function parseLimits({ at, windows }: Record<string, unknown>): SessionProgress['limits'] {
  const event = { type: 'limits', sessionId: '', windows }
  return isTime(at) && isSound('limits', event) ? { at, windows: event.windows } : null
}

function isTodo(value: unknown): value is Todo {
  return isRecord(value) && typeof value.text === 'string' && TODO_STATES.some(state => state === value.state)
}

const TODO_STATES: readonly Todo['state'][] = ['open', 'active', 'done']

function parseTurn(value: unknown): TurnState | undefined {
  if (!isRecord(value) || !isTime(value.startedAt)) return undefined
  return {
    id: textOrNull(value.id),
    startedAt: value.startedAt,
    endedAt: isTime(value.endedAt) ? value.endedAt : null,
    reason: textOrNull(value.reason) as TurnEndReason | null,
    costUsd: amount(value.costUsd) ?? null,
    costIsEstimate: value.costIsEstimate === true,
  }
}

function parseFailure({ code, message, credential }: Record<string, unknown>): SessionFailure | null {
  if (typeof code !== 'string' || typeof message !== 'string') return null
  const failure = { code: code as SessionFailure['code'], message }
  return typeof credential === 'string' ? { ...failure, credential } : failure
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

export function parseFork(value: unknown): ForkOrigin | null {
  if (!isRecord(value)) return null
  const { sessionId, seq, claudeSessionId, point, history: said } = value
  if (!isSessionId(sessionId)) return null
  const history = FORK_HISTORIES.find(known => known === said)
  return {
    sessionId,
    seq: count(seq),
    claudeSessionId: textOrNull(claudeSessionId),
    ...(typeof point === 'string' ? { point } : {}),
    ...(history === undefined ? {} : { history }),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value))
}

export function isMode(value: unknown): value is SessionMode {
  return SESSION_MODES.some(mode => mode === value)
}

function isNullableText(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
