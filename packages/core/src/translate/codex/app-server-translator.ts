import type { UIEvent } from '../../events/ui-event.ts'
import type { CodexEvent, CodexResponse, CodexUnknownEvent } from '../../native/codex/codex-event.ts'
import { codexThreadOf, concernsThreads } from '../../native/codex/codex-event.ts'
import type { CodexNotification } from '../../native/codex/notifications.ts'
import { asObject, asText, isObject, type JsonObject } from '../../native/loose.ts'
import { type CodexTranslator, translatorOf } from './codex-translator.ts'
import { type CodexAgentFacts, type CodexState, createCodexState } from './state.ts'
import { translateThread } from './thread-events.ts'
import { forgetRequest, translateRequest, translateResolved } from './tools/requests.ts'
import { announceNews, learnFacts, learnVersion } from './turn/session-init.ts'
import { unknownOfCodex } from './ui.ts'

export interface CodexAppServerTranslatorOptions {
  /** Chirality's session id, on every UI event. */
  sessionId: string
  /** The session's thread. Without it the first thread that appears is used. */
  threadId?: string
  agent?: CodexAgentFacts
  /** A schema was requested: the final message is parsed. */
  expectsJson?: boolean
}

/** One session's view of a `codex app-server`: messages of other threads are left out. */
export interface CodexAppServerTranslator extends CodexTranslator {
  /** Records that a request was answered. Otherwise its end would count as the agent's own. */
  answered(requestId: string): void
}

export function createCodexAppServerTranslator(
  options: CodexAppServerTranslatorOptions,
): CodexAppServerTranslator {
  const state = createCodexState(options)
  const translator = translatorOf(state, event => translateMessage(state, event))
  return Object.assign(translator, { answered: (requestId: string) => forgetRequest(state, requestId) })
}

function translateMessage(state: CodexState, event: CodexEvent): UIEvent[] {
  if (event.type === 'unknown') return translateUnknown(state, event)
  if (event.type !== undefined) return [unknownOfCodex(state, event.type, event)]
  if (event.method === undefined) return translateResponse(state, event)
  if (event.id === undefined) return translateNotification(state, event)
  const threadId = codexThreadOf(event)
  const asked = threadId === undefined || state.subAgents.has(threadId) || concerns(state, { threadId })
  return asked ? translateRequest(state, event) : []
}

function translateUnknown(state: CodexState, { nativeType, raw }: CodexUnknownEvent): UIEvent[] {
  // Up to 0.110 every event is repeated in the form of an older protocol.
  if (nativeType.startsWith('codex/event/')) return []
  const isMessage = asObject(asObject(raw)?.params) !== undefined
  const isOurs = !isMessage || state.threadId === null || concernsThreads(raw, [state.threadId])
  return isOurs ? [unknownOfCodex(state, nativeType, raw)] : []
}

function translateNotification(state: CodexState, event: CodexNotification): UIEvent[] {
  if (event.method === 'thread/started') return translateStarted(state, event)
  const params = asObject(event.params) ?? {}
  // Request ids belong to the process: this one can be a sub-agent's.
  if (event.method === 'serverRequest/resolved') return translateResolved(state, params)
  if (concerns(state, params)) return translateThread(state, event.method, params)
  if (event.method === 'turn/started') noteSubAgent(state, params)
  return []
}

/** Records a turn that another thread runs for a turn of this one. */
function noteSubAgent(state: CodexState, { threadId, turn }: JsonObject): void {
  const root = asText(asObject(turn)?.rootTurnId)
  if (root && root === state.turn.id && typeof threadId === 'string') state.subAgents.add(threadId)
}

function translateStarted(state: CodexState, event: CodexNotification): UIEvent[] {
  const params = asObject(event.params) ?? {}
  const thread = asObject(params.thread)
  const threadId = asText(thread?.id)
  if (!threadId) return [unknownOfCodex(state, event.method, event)]
  if (!concerns(state, { threadId })) return []
  learnFacts(state, params)
  return announceNews(state)
}

/** The answer does not name its request; its content shows which one. */
function translateResponse(state: CodexState, { result }: CodexResponse): UIEvent[] {
  if (!isObject(result)) return []
  const userAgent = asText(result.userAgent)
  if (userAgent) learnVersion(state, userAgent)
  const threadId = asText(asObject(result.thread)?.id)
  if (!threadId || !concerns(state, { threadId })) return []
  learnFacts(state, result)
  return announceNews(state)
}

/** A message without a thread is about the process, and so about every session in it. */
function concerns(state: CodexState, { threadId }: JsonObject): boolean {
  if (threadId === state.threadId || typeof threadId !== 'string') return true
  if (state.threadId !== null) return false
  state.threadId = threadId
  return true
}
