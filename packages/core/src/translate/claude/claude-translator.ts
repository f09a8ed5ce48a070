import type { PermissionRequestEvent, UIEvent } from '../../events/ui-event.ts'
import { type ClaudeEvent, parseClaudeEvent } from '../../native/claude/claude-event.ts'
import type { ClaudeUserEvent } from '../../native/claude/message-events.ts'
import type {
  ClaudeControlCancelRequestEvent,
  ClaudeControlRequestEvent,
} from '../../native/claude/other-events.ts'
import { asArray, asObject, asStrings, asText, type JsonObject } from '../../native/loose.ts'
import type { NdjsonRecord } from '../../ndjson/ndjson-framer.ts'
import { type HarnessTranslators, headline, present, status } from '../shared.ts'
import { toolFacts } from '../tool-facts.ts'
import { translateAssistant } from './answer/assistant-events.ts'
import { closeOpenBlock, cutAnswer, reportRefusal, tellHeld } from './answer/open-block.ts'
import { flushUsage, translateStreamEvent } from './answer/stream-events.ts'
import { claudeNotice, translateAuthStatus, translateGoal, translateReset } from './notices/notices.ts'
import { translateRateLimit } from './notices/retries.ts'
import { translateSystem } from './notices/system-events.ts'
import {
  CLAUDE_HARNESS,
  type ClaudeCall,
  type ClaudeOutcome,
  createClaudeState,
  SDK_HARNESS_ID,
  type TranslatorState,
  unknownOfClaude,
} from './state.ts'
import { translateToolProgress } from './tools/tasks.ts'
import { isToolResult, PLAN_TOOL, translateToolResult } from './tools/tools.ts'
import { translateResult } from './turn/results.ts'

export interface ClaudeTranslatorOptions {
  /** Chirality's session id, on every UI event. */
  sessionId: string
  /** The harness that runs the agent. Default `claude-code`. */
  harness?: string
}

/** Translates the output of one process to UI events. It has state, so every process needs its own. */
export interface ClaudeTranslator {
  translate(event: ClaudeEvent): UIEvent[]
  /** The same for a record of the framer, also for a line that is not JSON or too long. */
  translateRecord(record: NdjsonRecord): UIEvent[]
  /** The output is over: closes blocks that were begun and never confirmed. */
  end(): UIEvent[]
  /** How the last result ended its turn; null if there was none. */
  readonly outcome: ClaudeOutcome | null
  /** The agent's own session id, for resuming; null until it is known. */
  readonly nativeSessionId: string | null
}

/** The harnesses whose spools this reads: it is Claude Code that prints, whoever starts it. */
export const CLAUDE_TRANSLATORS: HarnessTranslators = {
  [CLAUDE_HARNESS]: createClaudeTranslator,
  [SDK_HARNESS_ID]: options => createClaudeTranslator({ ...options, harness: SDK_HARNESS_ID }),
}

export function createClaudeTranslator(options: ClaudeTranslatorOptions): ClaudeTranslator {
  const state = createClaudeState(options.sessionId, options.harness ?? CLAUDE_HARNESS)
  return {
    translate: event => translateEvent(state, event),
    translateRecord: record =>
      record.kind === 'json'
        ? translateEvent(state, parseClaudeEvent(record.value))
        : [unreadable(state, record)],
    end: () =>
      [state.main, ...state.nested.values()].flatMap(scope => [
        ...tellHeld(scope),
        ...closeOpenBlock(state, scope, 'aborted'),
        ...flushUsage(state, scope),
      ]),
    get outcome() {
      return state.outcome
    },
    get nativeSessionId() {
      return state.nativeSessionId
    },
  }
}

function translateEvent(state: TranslatorState, event: ClaudeEvent): UIEvent[] {
  switch (event.type) {
    case 'stream_event':
      return translateStreamEvent(state, event)
    case 'assistant':
      return translateAssistant(state, event)
    case 'user':
      return translateUser(state, event)
    case 'system':
      return translateSystem(state, event)
    case 'result':
      return translateResult(state, event)
    case 'control_request':
      return translateControlRequest(state, event)
    case 'control_cancel_request':
      return translateControlCancel(state, event)
    case 'tool_progress':
      return translateToolProgress(state, event)
    case 'rate_limit_event':
      return translateRateLimit(state, event)
    case 'conversation_reset':
      return translateReset(state, event)
    case 'auth_status':
      return translateAuthStatus(state, event)
    case 'active_goal':
      return translateGoal(state, event)
    case 'tool_use_summary': {
      const toolUseIds = asStrings(event.preceding_tool_use_ids)
      return claudeNotice(state, event.type, { message: asText(event.summary) ?? '', data: { toolUseIds } })
    }
    case 'prompt_suggestion': {
      const suggestion = asText(event.suggestion) ?? ''
      return claudeNotice(state, event.type, {
        message: suggestion && `Suggested next: ${suggestion}`,
        data: { suggestion },
      })
    }
    case 'command_lifecycle':
    case 'control_response':
    case 'keep_alive':
      return []
    case 'unknown':
      return [unknownOfClaude(state, event.nativeType, event.raw)]
  }
}

function unreadable(state: TranslatorState, record: Exclude<NdjsonRecord, { kind: 'json' }>): UIEvent {
  const { kind, ...raw } = record
  return unknownOfClaude(state, kind, raw)
}

const INTERRUPTED = '[Request interrupted by user'

/** Tool results, and messages that the CLI adds with the user role. */
function translateUser(state: TranslatorState, event: ClaudeUserEvent): UIEvent[] {
  if (event.isReplay === true) return []
  const message = asObject(event.message)
  if (!message) return [unknownOfClaude(state, 'user', event)]
  if (!asText(event.parent_tool_use_id)) state.forkPoint = null
  if (typeof message.content === 'string') return translateText(state, event, message.content)
  const blocks = asArray(message.content).map(block => asObject(block) ?? {})
  const results = blocks.filter(isToolResult)
  return blocks.flatMap(block => {
    if (isToolResult(block)) {
      const detail = results.length === 1 ? event.tool_use_result : undefined
      return [translateToolResult(state, block, { parent: asText(event.parent_tool_use_id), detail })]
    }
    return translateBlock(state, event, block)
  })
}

function translateBlock(state: TranslatorState, event: ClaudeUserEvent, block: JsonObject): UIEvent[] {
  switch (block.type) {
    case 'text':
      return translateText(state, event, asText(block.text) ?? '')
    case 'image':
    case 'document':
      return []
    default:
      return [unknownOfClaude(state, typeof block.type === 'string' ? `user/${block.type}` : 'user', event)]
  }
}

function translateText(state: TranslatorState, event: ClaudeUserEvent, text: string): UIEvent[] {
  // The prompt of a sub-agent: the tool call that started it already has it.
  if (asText(event.parent_tool_use_id) || text === '') return []
  if (text.startsWith(INTERRUPTED)) {
    state.isInterrupted = true
    const interrupted = status(state, 'interrupted', { message: 'Interrupted by the user', level: 'warn' })
    return [...cutAnswer(state, state.main), interrupted]
  }
  const refused = asText(event.refused_message_id) ? reportRefusal(state, state.main) : []
  return [
    ...tellHeld(state.main),
    ...refused,
    status(state, 'notice', { message: headline(text), data: { kind: 'user_message', text } }),
  ]
}

/** Requests that the host's own code answers, without a person. */
const HOST_REQUESTS: readonly string[] = ['hook_callback', 'mcp_message']

const KIND_BY_TOOL: ReadonlyMap<string, PermissionRequestEvent['kind']> = new Map([
  ['AskUserQuestion', 'question'],
  [PLAN_TOOL, 'plan'],
] as const)

/** A request of an unknown kind is emitted too, because the agent waits for an answer. */
function translateControlRequest(state: TranslatorState, event: ClaudeControlRequestEvent): UIEvent[] {
  const requestId = asText(event.request_id)
  const request = asObject(event.request)
  if (!requestId || !request) return [unknownOfClaude(state, 'control_request', event)]
  const subtype = asText(request.subtype) ?? 'unknown'
  if (HOST_REQUESTS.includes(subtype)) return []
  state.openRequests.add(requestId)
  const common = { type: 'permission:request', sessionId: state.sessionId, requestId, raw: event } as const
  if (subtype === 'can_use_tool') return [present({ ...common, ...toolRequest(state, request) })]
  return [{ ...common, kind: 'unknown', toolName: subtype, input: {} }]
}

function translateControlCancel(state: TranslatorState, event: ClaudeControlCancelRequestEvent): UIEvent[] {
  const requestId = asText(event.request_id)
  if (!requestId || !state.openRequests.delete(requestId)) return []
  return [
    { type: 'permission:resolved', sessionId: state.sessionId, requestId, outcome: 'cancelled', by: 'agent' },
  ]
}

function toolRequest(state: TranslatorState, request: JsonObject) {
  const toolName = asText(request.tool_name) ?? 'unknown'
  const toolUseId = asText(request.tool_use_id)
  const agentId = asText(request.agent_id)
  const call = state.tools.get(toolUseId ?? '')
  // The person who answers a request knows the answer, so the result's list of denials need not repeat it.
  if (toolUseId) state.knownDenials.add(toolUseId)
  const input = inputOf(request, call)
  return {
    kind: KIND_BY_TOOL.get(toolName) ?? 'tool',
    toolName,
    input,
    facts: toolFacts(toolName, input),
    toolUseId,
    reason: asText(request.decision_reason),
    suggestions: Array.isArray(request.permission_suggestions)
      ? asArray(request.permission_suggestions)
      : undefined,
    agentId,
    // 2.1.197 asks before it prints the sub-agent's call; the sub-agent's task is known by then.
    parentToolUseId: call ? call.parentToolUseId : state.tasks.get(agentId ?? '')?.toolUseId,
  }
}

/** 2.1.325 leaves out a plan that the model put into its call instead of the plan file. */
function inputOf(request: JsonObject, call: ClaudeCall | undefined): JsonObject {
  const input = asObject(request.input) ?? {}
  return call?.name === PLAN_TOOL && Object.keys(input).length === 0 ? call.input : input
}
