import type { UIEvent } from '../../events/ui-event.ts'
import type { CodexNotificationMethod } from '../../native/codex/notifications.ts'
import { asBoolean, asNumber, asObject, asString, asText, type JsonObject } from '../../native/loose.ts'
import { present } from '../shared.ts'
import { reportReroute, translateNotice, translateRateLimits } from './notices.ts'
import {
  translateCallProgress,
  translateOutputDelta,
  translateReasoningDelta,
  translateTextDelta,
} from './speech.ts'
import { type CodexState, type PendingFailure, startCodexTurn } from './state.ts'
import { reportCompacted, translateItem, translatePlan } from './tools/items.ts'
import { readCounts } from './turn/meter.ts'
import { translateError } from './turn/retries.ts'
import { announceNews, learnFacts } from './turn/session-init.ts'
import { endTurn } from './turn/turn-end.ts'

type ThreadMethod = Exclude<CodexNotificationMethod, 'thread/started' | 'serverRequest/resolved'>

export function translateThread(state: CodexState, method: ThreadMethod, params: JsonObject): UIEvent[] {
  switch (method) {
    case 'item/agentMessage/delta':
    case 'item/plan/delta':
      return translateTextDelta(state, params)
    case 'item/reasoning/summaryTextDelta':
      return translateReasoningDelta(state, params, 'summary')
    case 'item/reasoning/textDelta':
      return translateReasoningDelta(state, params, 'content')
    case 'item/commandExecution/outputDelta':
      return translateOutputDelta(state, params)
    case 'item/commandExecution/terminalInteraction':
    case 'item/mcpToolCall/progress':
      return translateCallProgress(state, params)
    case 'item/started':
      return translateItem(state, 'started', joinTurn(state, params))
    case 'item/completed':
      return translateItem(state, 'completed', joinTurn(state, params))
    case 'item/fileChange/patchUpdated':
      return translatePatch(state, params)
    case 'turn/started':
      return translateTurnStart(state, params)
    case 'turn/completed':
      return translateTurnEnd(state, params)
    case 'turn/plan/updated':
      return translatePlan(state, params)
    case 'turn/diff/updated':
      state.turn.diff = asString(params.diff) ?? ''
      return []
    case 'thread/tokenUsage/updated':
      return translateTokenUsage(state, params)
    case 'thread/settings/updated':
      learnFacts(state, asObject(params.threadSettings) ?? {})
      return state.turn.running ? announceNews(state) : []
    case 'thread/compacted':
      return reportCompacted(state)
    case 'error':
      return translateError(state, readFailure(params.error), asBoolean(params.willRetry))
    case 'model/rerouted':
      return reportReroute(state, params)
    case 'account/rateLimits/updated':
      return translateRateLimits(state, params)
    default:
      return translateNotice(state, method, params)
  }
}

function translateTurnStart(state: CodexState, params: JsonObject): UIEvent[] {
  const id = asText(asObject(params.turn)?.id) ?? asText(params.turnId) ?? ''
  if (state.turn.running && state.turn.id === id) return []
  startCodexTurn(state, id)
  return announceNews(state)
}

function translateTurnEnd(state: CodexState, params: JsonObject): UIEvent[] {
  const turn = asObject(params.turn) ?? {}
  const durationMs = asNumber(turn.durationMs)
  const failure = asObject(turn.error) ? readFailure(turn.error) : null
  if (turn.status === 'interrupted') return endTurn(state, { status: 'interrupted', failure, durationMs })
  if (turn.status === 'failed' || failure) return endTurn(state, { status: 'failed', failure, durationMs })
  state.turn.answer ??= lastMessage(turn.items) ?? null
  return endTurn(state, { status: 'completed', durationMs, forkPoint: asText(turn.id) })
}

/** A spool that is read from the middle lacks the start of the turn; the ids of its items must be the same. */
function joinTurn(state: CodexState, params: JsonObject): JsonObject {
  const turnId = asText(params.turnId)
  if (state.turn.id === null && turnId) startCodexTurn(state, turnId)
  return params
}

/** The model continues a patch. */
function translatePatch(state: CodexState, params: JsonObject): UIEvent[] {
  const item = { type: 'fileChange', id: params.itemId, changes: params.changes, status: 'inProgress' }
  return translateItem(state, 'updated', { item })
}

/** Ignores a repeated total, as after a message that was added to a running turn. */
function translateTokenUsage(state: CodexState, params: JsonObject): UIEvent[] {
  const counts = asObject(params.tokenUsage) ?? {}
  const usage = readCounts(counts.last)
  const news = state.meter.read(readCounts(counts.total), usage)
  if (!news || !state.turn.running) return []
  const { sessionId, facts } = state
  return [present({ type: 'usage', sessionId, usage, model: facts.model })]
}

function readFailure(value: unknown): PendingFailure {
  const error = asObject(value) ?? {}
  return {
    message: asText(error.message) ?? '',
    details: asText(error.additionalDetails),
    info: error.codexErrorInfo ?? undefined,
  }
}

function lastMessage(items: unknown): string | undefined {
  const messages = Array.isArray(items) ? items.filter(item => asObject(item)?.type === 'agentMessage') : []
  return asText(asObject(messages.at(-1))?.text)
}
