import type { PermissionRequestEvent, TurnEndReason, UIEvent, UsageInfo } from '../../events/ui-event.ts'
import type { ContextUsage } from '../../harness/harness.ts'
import { asArray, asNumber, asObject, asText, type JsonObject } from '../../native/loose.ts'
import type { NdjsonRecord } from '../../ndjson/ndjson-framer.ts'
import type { HarnessId } from '../../session/session.ts'
import { CUT_OFF, headline, MAX_TEXT_CHARS, present, status, type Translator, tooLong } from '../shared.ts'
import { readTodos, toolFacts } from '../tool-facts.ts'
import { formRequest } from './elicitation.ts'
import {
  type AcpCommand,
  type AcpToolCall,
  canonicalCall,
  choices,
  commandsOf,
  contentText,
  newToolCall,
  noticeText,
  planEntries,
  resultText,
  updateToolCall,
} from './tool-calls.ts'
import { addUsage, codeOf, LIMITS, type Spent, spentIn, usageOf } from './turn-end.ts'

/** The id of every harness that speaks the Agent Client Protocol begins with this. */
export const ACP_ID_PREFIX = 'acp-'

export interface AcpTranslatorOptions {
  sessionId: string
  harness?: HarnessId
  /** Keeps the ids of requests of different turns apart. */
  turnId?: string | undefined
  /** The id of the `session/prompt` request, whose answer ends the turn. Without it every answer to a prompt does. */
  promptId?: number | string | undefined
  /** The agent's own id of the conversation. Updates of others are shown as drift. */
  nativeSessionId?: string | undefined
  /** The cost of the conversation when the turn began: agents report running totals. `unknown`: the turn's share cannot be told. */
  costBefore?: number | 'unknown' | undefined
}

export interface AcpTranslator extends Translator {
  /** One message of the agent: a notification, a request or an answer. */
  translate(message: unknown): UIEvent[]
  /** The agent got its answer to this request. */
  answered(requestId: string): void
  readonly outcome: { reason: TurnEndReason } | null
  /** The running total that the agent reported last. */
  readonly costUsd: number | undefined
  readonly context: ContextUsage | undefined
  readonly slashCommands: AcpCommand[] | undefined
  /** A command of the agent has begun and not ended. */
  readonly isExecuting: boolean
  /** The conversation was shortened, so instructions in it may be gone. */
  readonly hasCompacted: boolean
}

/** Translates the messages of an agent that speaks the Agent Client Protocol, version 1. */
export function createAcpTranslator(options: AcpTranslatorOptions): AcpTranslator {
  return new AcpReader(options)
}

type Speech = { kind: 'text' | 'thinking'; messageId: string; text: string; isCut: boolean }

class AcpReader implements AcpTranslator {
  readonly #options: AcpTranslatorOptions
  readonly #calls = new Map<string, AcpToolCall>()
  /** Calls that were told, and not their end. */
  readonly #open = new Map<string, string>()
  /** Requests that wait for an answer. */
  readonly #asked = new Set<string>()
  #speech: Speech | null = null
  #spoken = 0
  #answer = ''
  /** Tokens that came with the text, from agents that do not count them in the answer. */
  #tokens: UsageInfo | undefined
  outcome: { reason: TurnEndReason } | null = null
  costUsd: number | undefined
  context: ContextUsage | undefined
  slashCommands: AcpCommand[] | undefined
  hasCompacted = false

  constructor(options: AcpTranslatorOptions) {
    this.#options = options
    const { costBefore } = options
    this.costUsd = costBefore === 'unknown' ? undefined : costBefore
  }

  get isExecuting(): boolean {
    return [...this.#open.keys()].some(id => this.#calls.get(id)?.kind === 'execute')
  }

  translateRecord(record: NdjsonRecord): UIEvent[] {
    if (record.kind === 'json') return this.translate(record.value)
    return [this.#unknown(record.kind, record.kind === 'malformed' ? record.text : { bytes: record.bytes })]
  }

  translate(message: unknown): UIEvent[] {
    const { id, method, params, result, error } = asObject(message) ?? {}
    if (method === 'session/update') return this.#update(asObject(params) ?? {}, message)
    if (method === 'session/request_permission') return this.#request(id, asObject(params) ?? {}, message)
    if (method === 'elicitation/create') return this.#form(id, asObject(params) ?? {}, message)
    if (method === '$/cancel_request') return this.#withdraw(asObject(params)?.requestId)
    if (typeof method === 'string') return isExtension(method) ? [] : [this.#unknown(method, message)]
    if (id === undefined || (result === undefined && error === undefined))
      return [this.#unknown('message', message)]
    const { promptId } = this.#options
    const isPrompt =
      promptId === undefined ? asText(asObject(result)?.stopReason) !== undefined : id === promptId
    if (!isPrompt || this.outcome) return []
    return error === undefined || error === null ? this.#done(asObject(result) ?? {}) : this.#failed(error)
  }

  end(): UIEvent[] {
    const speech = this.#closeSpeech(this.outcome === null)
    const cut = [...this.#open].map(([toolUseId]): UIEvent => {
      return { type: 'tool:result', sessionId: this.sessionId, toolUseId, content: CUT_OFF, isError: true }
    })
    this.#open.clear()
    return [...speech, ...cut]
  }

  #update(params: JsonObject, message: unknown): UIEvent[] {
    const update = asObject(params.update) ?? {}
    const { nativeSessionId } = this.#options
    if (nativeSessionId !== undefined && params.sessionId !== nativeSessionId)
      return [this.#unknown(`${String(update.sessionUpdate)} of another session`, message)]
    const tokens = usageOf(asObject(update._meta)?.usage)
    if (tokens) this.#tokens = addUsage(this.#tokens, tokens)
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#say('text', update)
      case 'agent_thought_chunk':
        return this.#say('thinking', update)
      case 'tool_call':
      case 'tool_call_update':
        return this.#tool(update, message)
      case 'plan':
        return this.#plan(update)
      case 'usage_update':
        return this.#usage(update)
      case 'available_commands_update':
        this.slashCommands = commandsOf(update)
        return []
      case 'current_mode_update': {
        const mode = asText(update.currentModeId) ?? ''
        return [
          status(this, 'permission_mode', {
            message: `The agent works in its mode "${mode}".`,
            data: { mode },
          }),
        ]
      }
      case 'notice':
        return [status(this, 'notice', { message: headline(noticeText(update)), data: { ...update } })]
      case 'compaction_update':
        this.hasCompacted = true
        return [
          status(this, 'compacted', {
            message: 'The agent shortened the conversation.',
            data: { ...update },
          }),
        ]
      case 'user_message_chunk':
      case 'config_option_update':
      case 'session_info_update':
      case 'compaction_summary_chunk':
        return []
      default:
        return [this.#unknown(`session/update/${String(update.sessionUpdate)}`, message)]
    }
  }

  get sessionId(): string {
    return this.#options.sessionId
  }

  #say(kind: Speech['kind'], update: JsonObject): UIEvent[] {
    const text = contentText(update.content)
    if (text === undefined || text === '') return []
    const given = asText(update.messageId)
    const before = this.#speech
    const isSame =
      before?.kind === kind && (given === undefined || before.messageId === this.#messageId(given, kind))
    const closed = isSame ? [] : this.#closeSpeech(false)
    if (!isSame) this.#spoken += 1
    const speech = isSame
      ? before
      : { kind, messageId: this.#messageId(given ?? `${this.#spoken}`, kind), text: '', isCut: false }
    this.#speech = speech
    if (speech.text.length + text.length > MAX_TEXT_CHARS) {
      if (speech.isCut) return closed
      speech.isCut = true
      return [...closed, tooLong(this.sessionId)]
    }
    speech.text += text
    const { sessionId } = this
    const { messageId } = speech
    return [
      ...closed,
      kind === 'text'
        ? { type: 'chat:delta', sessionId, text, messageId }
        : { type: 'chat:thinking', sessionId, text, messageId },
    ]
  }

  #messageId(given: string, kind: Speech['kind']): string {
    const { turnId = '' } = this.#options
    return `${turnId}${turnId && ':'}${given}${kind === 'thinking' ? ':thought' : ''}`
  }

  #closeSpeech(aborted: boolean): UIEvent[] {
    const speech = this.#speech
    this.#speech = null
    if (!speech || speech.text === '') return []
    const { sessionId } = this
    const { messageId, text } = speech
    if (speech.kind === 'thinking')
      return [{ type: 'chat:thinking', sessionId, text, messageId, final: true }]
    this.#answer = text
    return [{ type: 'chat:message', sessionId, messageId, text, ...(aborted ? { aborted } : {}) }]
  }

  #tool(update: JsonObject, message: unknown): UIEvent[] {
    const id = asText(update.toolCallId)
    if (id === undefined) return [this.#unknown(`session/update/${String(update.sessionUpdate)}`, message)]
    const known = this.#calls.get(id)
    const call = known ?? newToolCall(id)
    // An update after the end changes nothing that was told.
    if (known && !this.#open.has(id)) return []
    this.#calls.set(id, call)
    const printed = call.output.length
    updateToolCall(call, update)
    const events = [...this.#closeSpeech(false), ...this.#tell(call)]
    if (call.output.length > printed && call.status !== 'completed' && call.status !== 'failed') {
      const output = call.output.slice(-MAX_PROGRESS_CHARS)
      events.push(status(this, 'tool_progress', { message: 'running', toolUseId: id, data: { output } }))
    }
    if (call.status !== 'completed' && call.status !== 'failed') return events
    this.#open.delete(id)
    const { edits } = canonicalCall(call).facts
    events.push({
      type: 'tool:result',
      sessionId: this.sessionId,
      toolUseId: id,
      content: resultText(call),
      isError: call.status === 'failed',
      ...(call.rawOutput === undefined ? {} : { detail: call.rawOutput }),
      ...(edits === undefined ? {} : { edits }),
    })
    return events
  }

  /** The call, and again whenever its input has changed. */
  #tell(call: AcpToolCall): UIEvent[] {
    const { name, input, facts } = canonicalCall(call)
    const told = JSON.stringify([name, input, facts])
    const before = this.#open.get(call.id)
    if (before === told) return []
    this.#open.set(call.id, told)
    const { sessionId } = this
    return before === undefined
      ? [{ type: 'tool:start', sessionId, toolUseId: call.id, name, input, facts }]
      : [{ type: 'tool:input', sessionId, toolUseId: call.id, input, facts }]
  }

  #plan(update: JsonObject): UIEvent[] {
    const todos = readTodos(planEntries(update))
    const done = todos.filter(({ state }) => state === 'done').length
    return [{ ...status(this, 'task', { message: `Plan: ${done} of ${todos.length} done` }), todos }]
  }

  #usage(update: JsonObject): UIEvent[] {
    const [usedTokens, maxTokens] = [asNumber(update.used), asNumber(update.size)]
    if (usedTokens !== undefined && maxTokens !== undefined) this.context = { usedTokens, maxTokens }
    const { amount, currency } = asObject(update.cost) ?? {}
    const cost = asNumber(amount)
    if (cost !== undefined && currency === 'USD') this.costUsd = cost
    return []
  }

  #request(id: unknown, params: JsonObject, raw: unknown): UIEvent[] {
    const update = asObject(params.toolCall) ?? {}
    const toolUseId = asText(update.toolCallId)
    const known = toolUseId === undefined ? undefined : this.#calls.get(toolUseId)
    const call = known ?? newToolCall(toolUseId ?? '')
    // An agent may ask about a call before it tells of it.
    const isNews = toolUseId !== undefined && known === undefined
    if (isNews) this.#calls.set(toolUseId, call)
    if (toolUseId === undefined || isNews || this.#open.has(toolUseId))
      updateToolCall(call, { ...update, status: null })
    const { name, input, facts } = canonicalCall(call)
    const { sessionId } = this
    const names = choices(params)
    const question = { question: call.title, options: names, onlyOptions: true }
    const asked = names ? { ...input, questions: [question] } : input
    const request: PermissionRequestEvent = present({
      type: 'permission:request' as const,
      sessionId,
      requestId: this.#requestId(id),
      kind: names ? ('question' as const) : ('tool' as const),
      toolName: name,
      input: asked,
      facts: names ? toolFacts(name, asked) : facts,
      ...(toolUseId === undefined ? {} : { toolUseId }),
      suggestions: asArray(params.options),
      raw,
    })
    return [...this.#closeSpeech(false), ...(toolUseId === undefined ? [] : this.#tell(call)), request]
  }

  /** A form that the agent wants filled in. */
  #form(id: unknown, params: JsonObject, raw: unknown): UIEvent[] {
    const form = formRequest(params)
    if (!form) return [this.#unknown('elicitation/create', raw)]
    const toolUseId = asText(params.toolCallId)
    const request: PermissionRequestEvent = {
      type: 'permission:request',
      sessionId: this.sessionId,
      requestId: this.#requestId(id),
      ...form,
      ...(toolUseId !== undefined && this.#open.has(toolUseId) ? { toolUseId } : {}),
      raw,
    }
    return [...this.#closeSpeech(false), request]
  }

  #requestId(id: unknown): string {
    const requestId = `${this.#options.turnId ?? ''}:${String(id)}`
    this.#asked.add(requestId)
    return requestId
  }

  /** The agent no longer waits for the answer. */
  #withdraw(id: unknown): UIEvent[] {
    const requestId = `${this.#options.turnId ?? ''}:${String(id)}`
    if (!this.#asked.delete(requestId)) return []
    const { sessionId } = this
    return [{ type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by: 'agent' }]
  }

  /** A request was answered. */
  answered(requestId: string): void {
    this.#asked.delete(requestId)
  }

  #done(result: JsonObject): UIEvent[] {
    const reason = asText(result.stopReason)
    const speech = this.#closeSpeech(reason === 'cancelled')
    const { sessionId } = this
    const spent = this.#spent(result)
    if (reason === 'cancelled') {
      this.outcome = { reason: 'interrupted' }
      return [
        ...speech,
        { type: 'session:error', sessionId, error: 'The turn was stopped.', code: 'interrupted', ...spent },
      ]
    }
    const limit = reason === undefined ? undefined : LIMITS[reason]
    if (limit) {
      this.outcome = { reason: limit.reason }
      return [...speech, { type: 'session:error', sessionId, error: limit.error, code: limit.code, ...spent }]
    }
    this.outcome = { reason: 'completed' }
    const { usage = { input_tokens: 0, output_tokens: 0 }, costUsd } = spent
    return [
      ...speech,
      { type: 'chat:complete', sessionId, text: this.#answer },
      { type: 'session:complete', sessionId, usage, ...(costUsd === undefined ? {} : { costUsd }) },
    ]
  }

  #failed(error: unknown): UIEvent[] {
    const { message, code, data } = asObject(error) ?? {}
    this.outcome = { reason: 'failed' }
    const detail = asText(asObject(data)?.details) ?? asText(asObject(data)?.message)
    const said = [asText(message) ?? 'The agent answered with an error.', detail].filter(Boolean).join(': ')
    const { sessionId } = this
    return [
      ...this.#closeSpeech(true),
      { type: 'session:error', sessionId, error: said, code: codeOf(code, said), ...this.#spent({}) },
    ]
  }

  #spent(result: JsonObject): Spent {
    return spentIn(result, { tokens: this.#tokens, total: this.costUsd, before: this.#options.costBefore })
  }

  #unknown(nativeType: string, raw: unknown): UIEvent {
    const { sessionId } = this
    return { type: 'native:unknown', sessionId, harness: this.#options.harness ?? 'ACP', nativeType, raw }
  }
}

/** The part of a long output that a running call shows. */
const MAX_PROGRESS_CHARS = 4_000

/** Methods that begin with an underscore are an agent's own additions, which a client need not know. */
function isExtension(method: string): boolean {
  return method.startsWith('_') || method.startsWith('$/')
}
