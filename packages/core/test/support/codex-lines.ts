// Builders for what Codex prints in its two voices, and one call for each to translate it.
import {
  type CodexAppServerTranslatorOptions,
  type CodexExecTranslatorOptions,
  type CodexOutcome,
  createCodexAppServerTranslator,
  createCodexExecTranslator,
  type Envelope,
  initialSessionState,
  parseCodexEvent,
  reduceSession,
  type SessionState,
  type UIEvent,
  type UsageInfo,
} from '../../src/index.ts'
import { only } from './claude-lines.ts'

export { only } from './claude-lines.ts'

export type Line = Record<string, unknown>

export const parse = parseCodexEvent

export const SESSION = 'ours'
export const THREAD = 'thread-1'
export const TURN = 'turn-1'

export interface Translated {
  events: UIEvent[]
  outcome: CodexOutcome | null
  nativeSessionId: string | null
  usageTotal: UsageInfo
}

interface AnyTranslator {
  translate(event: ReturnType<typeof parseCodexEvent>): UIEvent[]
  end(): UIEvent[]
  readonly outcome: CodexOutcome | null
  readonly nativeSessionId: string | null
  readonly usageTotal: UsageInfo
}

/** All lines, then the end of the output. */
export function run(translator: AnyTranslator, lines: readonly unknown[]): Translated {
  const events = lines.flatMap(line => translator.translate(parseCodexEvent(line)))
  events.push(...translator.end())
  const { outcome, nativeSessionId, usageTotal } = translator
  return { events, outcome, nativeSessionId, usageTotal }
}

export function translateExec(
  lines: readonly unknown[],
  options: Partial<CodexExecTranslatorOptions> = {},
): Translated {
  return run(createCodexExecTranslator({ sessionId: SESSION, turnId: TURN, ...options }), lines)
}

export function translateApp(
  lines: readonly unknown[],
  options: Partial<CodexAppServerTranslatorOptions> = {},
): Translated {
  return run(createCodexAppServerTranslator({ sessionId: SESSION, threadId: THREAD, ...options }), lines)
}

export const execEvents = (...lines: unknown[]): UIEvent[] => translateExec(lines).events
export const appEvents = (...lines: unknown[]): UIEvent[] => translateApp(lines).events
export const appStatuses = (...lines: unknown[]) => only(appEvents(...lines), 'status')

/** As a session's log would have it: around every translated turn stands the session's own. */
export function fold(events: readonly UIEvent[]): SessionState {
  const at = '2026-01-01T00:00:00.000Z'
  const sessionId = SESSION
  const start: UIEvent = { type: 'turn:start', sessionId, message: 'go' }
  const end: UIEvent = { type: 'turn:end', sessionId, reason: 'completed' }
  const envelopes = [start, ...events, end].map(
    (event, index): Envelope => ({ seq: index + 1, at, sessionId, turnId: 'ours-1', event }),
  )
  return reduceSession(initialSessionState(SESSION), envelopes)
}

// codex exec --json

export const threadStarted = (thread_id = THREAD): Line => ({ type: 'thread.started', thread_id })
export const turnStarted = (): Line => ({ type: 'turn.started' })
export const started = (item: Line): Line => ({ type: 'item.started', item })
export const updated = (item: Line): Line => ({ type: 'item.updated', item })
export const completed = (item: Line): Line => ({ type: 'item.completed', item })
export const error = (message: string): Line => ({ type: 'error', message })
export const turnFailed = (message?: string): Line => ({ type: 'turn.failed', error: { message } })

export function turnCompleted(usage: Line = {}): Line {
  return {
    type: 'turn.completed',
    usage: {
      input_tokens: 100,
      cached_input_tokens: 20,
      cache_write_input_tokens: 5,
      output_tokens: 30,
      reasoning_output_tokens: 7,
      ...usage,
    },
  }
}

export const message = (text: string, id = 'item_0'): Line => ({ id, type: 'agent_message', text })
export const reasoning = (text: string, id = 'item_0'): Line => ({ id, type: 'reasoning', text })

export function command(fields: Line = {}): Line {
  return {
    id: 'item_0',
    type: 'command_execution',
    command: 'ls',
    aggregated_output: '',
    exit_code: null,
    status: 'in_progress',
    ...fields,
  }
}

// codex app-server

export function notification(method: string, params: Line = {}): Line {
  return { method, params: { threadId: THREAD, turnId: TURN, ...params } }
}

export function request(id: string | number, method: string, params: Line = {}): Line {
  return { id, ...notification(method, params) }
}

export const appThreadStarted = (thread: Line = {}): Line => ({
  method: 'thread/started',
  params: { thread: { id: THREAD, model: 'gpt-x', cwd: '/project', cliVersion: '0.1.0', ...thread } },
})
export const appTurnStarted = (id = TURN): Line =>
  notification('turn/started', { turn: { id, status: 'inProgress' } })
export const itemStarted = (item: Line): Line => notification('item/started', { item })
export const itemCompleted = (item: Line): Line => notification('item/completed', { item })
export const textDelta = (delta: string, itemId = 'msg_1'): Line =>
  notification('item/agentMessage/delta', { itemId, delta })
export const summaryDelta = (delta: string, summaryIndex = 0, itemId = 'rs_1'): Line =>
  notification('item/reasoning/summaryTextDelta', { itemId, delta, summaryIndex })
export const appMessage = (text: string, id = 'msg_1'): Line => ({ type: 'agentMessage', id, text })
export const appReasoning = (summary: string[], id = 'rs_1'): Line => ({
  type: 'reasoning',
  id,
  summary,
  content: [],
})

export function appCommand(fields: Line = {}): Line {
  return {
    type: 'commandExecution',
    id: 'call_1',
    command: 'ls',
    cwd: '/project',
    aggregatedOutput: null,
    exitCode: null,
    durationMs: null,
    status: 'inProgress',
    ...fields,
  }
}

export function appTurnCompleted(turn: Line = {}): Line {
  return notification('turn/completed', {
    turn: { id: TURN, status: 'completed', error: null, items: [], durationMs: 5, ...turn },
  })
}

export function appError(fields: Line, willRetry: boolean): Line {
  return notification('error', { error: { additionalDetails: null, ...fields }, willRetry })
}

export const counts = (input: number, output: number): Line => ({
  inputTokens: input,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: output,
})

export function tokenUsage(total: Line, last: Line): Line {
  return notification('thread/tokenUsage/updated', { tokenUsage: { total, last, modelContextWindow: 1000 } })
}
