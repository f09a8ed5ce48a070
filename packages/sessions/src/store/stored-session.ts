import {
  type CostLedger,
  costSoFar,
  type HarnessId,
  NO_COST,
  SESSION_MODES,
  type Session,
  type SessionMode,
  type SessionPhase,
  type TurnEndReason,
} from '@chirality/core'
import { isSessionId } from '../files/session-id.ts'
import { parseSettings, type SessionSettings } from './session-settings.ts'

/** A session as it is kept in `sessions/<id>.json`. A cache: its log says the same, and can rebuild it. */
export interface StoredSession extends Session {
  title: string | null
  harness: HarnessId | null
  model: string | null
  status: SessionPhase
  /** How the last turn ended. */
  lastTurn: TurnEndReason | null
  /** In the last turn the agent asked while Chirality was gone: it stopped there, or went on without an answer. */
  leftUnanswered: boolean
  turnCount: number
  /** Null when tokens were used and nobody knows their price. Never falls. */
  costUsd: number | null
  /** A part of it is by list price, or has no price. */
  costIsEstimate: boolean
  /** All that models read and wrote, cached or not. */
  tokens: number
  /** Of all turns, without what they waited for a person. */
  workedMs: number
  /** What cost and tokens are made of, so that the log need not be read again. */
  ledger: CostLedger
  /** The last `seq` of the log that is in here. */
  lastSeq: number
  forkedFrom: ForkOrigin | null
  settings: SessionSettings
}

export interface ForkOrigin {
  sessionId: string
  seq: number
  /** The agent's own id of the conversation that was forked; a harness that can fork starts from it. */
  claudeSessionId: string | null
  /** Where the agent can cut that conversation, if it said so. */
  point?: string
  /**
   * What the agent of the fork gets: all of that conversation, where the fork is at its end; what it was at `point`; or a
   * written account of what is shown. When the other session goes on before the fork's first turn, `whole` is cut, too.
   */
  history?: ForkHistory
}

export type ForkHistory = (typeof FORK_HISTORIES)[number]

const FORK_HISTORIES = ['whole', 'cut', 'account'] as const

/** Of a session that has not done anything yet. */
export const NOTHING_SPENT = { costUsd: 0, costIsEstimate: false, tokens: 0, ledger: NO_COST, workedMs: 0 }

/** What a list shows. */
export type SessionSummary = StoredSession

export interface NewSession {
  id: string
  projectRoot: string
  persona: string | null
  mode: SessionMode
  createdAt: string
  title?: string | null
  harness?: HarnessId | null
  model?: string | null
  settings?: SessionSettings
}

export function newSession(start: NewSession): StoredSession {
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
    forkedFrom: null,
    settings: start.settings ?? {},
  }
}

/**
 * The session in a file, or undefined if it is none. The fields of the specification must be right; ours may be missing,
 * for the file may come from another program. The project is the one the file was found in, also after a move.
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
    ...parseCost(value),
    lastSeq: count(value.lastSeq),
    forkedFrom: parseFork(value.forkedFrom),
    settings: parseSettings(value.settings),
  }
}

export function formatSession(session: StoredSession): string {
  return `${JSON.stringify(session, null, 2)}\n`
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** A file of an earlier version has only the sum. */
export function parseCost(value: Record<string, unknown>): Pick<StoredSession, keyof typeof NOTHING_SPENT> {
  const stored = typeof value.ledger === 'object' && value.ledger !== null ? value.ledger : {}
  const known = amount(value.costUsd)
  const numbers = Object.entries(NO_COST).flatMap(([name, none]) =>
    typeof none === 'number' ? [[name, amount((stored as Record<string, unknown>)[name]) ?? none]] : [],
  )
  const model = textOrNull((stored as Record<string, unknown>).model) ?? ''
  const ledger: CostLedger = value.ledger
    ? { ...NO_COST, ...Object.fromEntries(numbers), model }
    : { ...NO_COST, statedUsd: known ?? 0, highUsd: known ?? 0 }
  const { usd: costUsd, isEstimate: costIsEstimate, tokens } = costSoFar(ledger)
  return { costUsd, costIsEstimate, tokens, ledger, workedMs: amount(value.workedMs) ?? 0 }
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

export function parseFork(value: unknown): ForkOrigin | null {
  if (typeof value !== 'object' || value === null) return null
  const { sessionId, seq, claudeSessionId, point, history: said } = value as Record<string, unknown>
  if (!isSessionId(sessionId)) return null
  const history = FORK_HISTORIES.find(known => known === said)
  return {
    ...{ sessionId, seq: count(seq), claudeSessionId: textOrNull(claudeSessionId) },
    ...(typeof point === 'string' ? { point } : {}),
    ...(history === undefined ? {} : { history }),
  }
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
