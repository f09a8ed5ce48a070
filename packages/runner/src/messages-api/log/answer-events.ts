import { randomUUID } from 'node:crypto'
import type { AnswerBuilder } from '../api/answer.ts'
import type { ApiError } from '../api/api-error.ts'
import type { ApiEvent, ContentBlock, PromptBlock } from '../api/messages.ts'
import type { RetryNotice } from '../api/retry.ts'
import type { EventHandler } from '../loop/event-handler.ts'
import type { Emit, NewEvent } from './native-event.ts'

/** Reports the actions of the loop as raw events. */
export function answerEvents(emit: Emit): EventHandler {
  // Complete blocks of an answer that broke off later; the next attempt replaces them.
  let said: string[] = []
  let withdrawn: string[] = []
  let isPrompt = true
  let isAnswering = false
  return {
    onUser(content) {
      const text = typeof content === 'string' ? content : content.map(nameOf).join('\n')
      // The turn itself reports the prompt; only content that is added later is reported here.
      emit({
        type: 'user',
        message: { role: 'user', content: text },
        ...(isPrompt ? { isReplay: true } : {}),
      })
      isPrompt = false
    },
    onRequest(request) {
      emit({ type: 'request', ...request })
      emit({ type: 'system', subtype: 'status', status: 'requesting' })
    },
    onEvent(event) {
      if (event.type === 'error') return emit({ type: 'stream_error', event })
      if (event.type === 'message_start') said = []
      isAnswering = event.type !== 'message_stop'
      emit({ type: 'stream_event', event: withId(event), parent_tool_use_id: null })
    },
    onBlock(block, answer) {
      if (block.type === 'other') return
      const uuid = randomUUID()
      said.push(uuid)
      emit({ ...assistant(block, answer), uuid, ...(withdrawn.length > 0 ? { supersedes: withdrawn } : {}) })
      withdrawn = []
    },
    onRetry(notice) {
      withdrawn.push(...said)
      said = []
      if (isAnswering) emit(BROKEN_OFF)
      isAnswering = false
      emit(retry(notice))
    },
    onFallback(from, to) {
      withdrawn.push(...said)
      said = []
      const models = { original_model: from, fallback_model: to }
      emit({ type: 'system', subtype: 'model_fallback', trigger: 'overloaded', ...models })
    },
    onCallAgain(call) {
      const message = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', content: [call] }
      emit({ type: 'assistant', message, parent_tool_use_id: null })
    },
    onToolResult(id, content, isError, detail) {
      const result = { type: 'tool_result', tool_use_id: id, content, ...(isError ? { is_error: true } : {}) }
      const message = { role: 'user', content: [result] }
      emit({ type: 'user', message, tool_use_result: detail, parent_tool_use_id: null })
    },
  }
}

/** Claude Code's event for a broken stream, whose content does not count. */
const BROKEN_OFF: NewEvent = {
  type: 'stream_event',
  event: { type: 'message_stop' },
  abandoned_blocks: {},
  parent_tool_use_id: null,
}

function nameOf(block: PromptBlock): string {
  return block.type === 'text' ? block.text : `[${block.type} ${block.source.media_type}]`
}

function assistant(block: ContentBlock, { id, model, usage }: AnswerBuilder) {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [block],
    stop_reason: null,
    usage,
  }
  return { type: 'assistant' as const, message, parent_tool_use_id: null }
}

function retry({ attempt, maxRetries, delayMs, error }: RetryNotice) {
  return {
    type: 'system' as const,
    subtype: 'api_retry',
    attempt,
    max_retries: maxRetries,
    retry_delay_ms: delayMs,
    error_status: error.status ?? null,
    error: errorName(error),
  }
}

/** Claude Code's message for the kind of a failure. It is not part of the conversation. */
export function failureMessage(error: ApiError): NewEvent {
  const content = [{ type: 'text', text: error.message }]
  const message = { id: randomUUID(), role: 'assistant', model: '<synthetic>', content }
  return { type: 'assistant', error: errorName(error), message, parent_tool_use_id: null }
}

/** Claude Code's name for an API error. */
function errorName({ type, message }: ApiError): string {
  if (type === 'billing_error' || /credit balance/i.test(message)) return 'billing_error'
  return ERROR_NAMES[type] ?? 'unknown'
}

const ERROR_NAMES: Readonly<Record<string, string>> = {
  api_error: 'server_error',
  authentication_error: 'authentication_failed',
  invalid_request_error: 'invalid_request',
  not_found_error: 'model_not_found',
  overloaded_error: 'overloaded',
  permission_error: 'authentication_failed',
  rate_limit_error: 'rate_limit',
}

/**
 * Blocks are identified by the id of their answer. Without an id, those of all answers of a gateway would be merged.
 */
function withId(event: ApiEvent): ApiEvent {
  const { message } = event
  if (event.type !== 'message_start' || typeof message !== 'object' || message === null) return event
  if ('id' in message && typeof message.id === 'string' && message.id !== '') return event
  Object.assign(message, { id: `msg_${randomUUID()}` })
  return event
}
