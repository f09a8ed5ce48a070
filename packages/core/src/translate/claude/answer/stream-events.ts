import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeStreamEvent } from '../../../native/claude/message-events.ts'
import { asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { MAX_TEXT_CHARS, present, tooLong } from '../../shared.ts'
import {
  blockId,
  enterMessage,
  type OpenBlock,
  type Scope,
  scopeOf,
  type TranslatorState,
  unknownOfClaude,
} from '../state.ts'
import { isToolResult, isToolUse, startClaudeTool } from '../tools/tools.ts'
import { mergeUsage } from '../usage.ts'
import { breakOpenBlock, closeOpenBlock, reportRefusal, tellHeld } from './open-block.ts'

/** Pieces of an answer while the model writes it. The deltas are the hot path: no copies, no helpers. */
export function translateStreamEvent(state: TranslatorState, event: ClaudeStreamEvent): UIEvent[] {
  const inner = asObject(event.event)
  if (!inner) return [unknownOfClaude(state, 'stream_event', event)]
  const scope = scopeOf(state, event.parent_tool_use_id)
  return scope.held
    ? [...tellHeld(scope), ...translateInner(state, scope, event)]
    : translateInner(state, scope, event)
}

function translateInner(state: TranslatorState, scope: Scope, event: ClaudeStreamEvent): UIEvent[] {
  const inner = asObject(event.event) ?? {}
  switch (inner.type) {
    case 'content_block_delta':
      return translateDelta(state, scope, event)
    case 'content_block_start':
      return startBlock(state, scope, event)
    case 'message_start':
      return startMessage(state, scope, inner)
    case 'message_delta':
      return endMessage(state, scope, inner)
    case 'message_stop':
      return [
        ...(asObject(event.abandoned_blocks) ? breakOpenBlock(state, scope) : []),
        ...flushUsage(state, scope),
      ]
    case 'content_block_stop':
      if (scope.open && scope.open.kind !== 'tool') scope.open.isOver = true
      return []
    case 'ping':
      return []
    default:
      return [unknownOfClaude(state, nameOf('stream_event', inner), event)]
  }
}

/** One usage event for each answer, from its last count only: earlier ones would be counted twice. */
export function flushUsage(state: TranslatorState, scope: Scope): UIEvent[] {
  const { usage, model, parentToolUseId } = scope
  if (!usage) return []
  scope.usage = null
  return [present({ type: 'usage', sessionId: state.sessionId, usage, model, parentToolUseId })]
}

function translateDelta(state: TranslatorState, scope: Scope, event: ClaudeStreamEvent): UIEvent[] {
  const delta = asObject(asObject(event.event)?.delta)
  switch (delta?.type) {
    case 'text_delta':
      return say(state, scope, { kind: 'text', text: delta.text })
    case 'thinking_delta':
      return say(state, scope, { kind: 'thinking', text: delta.thinking })
    case 'input_json_delta':
      return writeInput(state, scope, delta.partial_json)
    case 'signature_delta':
    case 'citations_delta':
      return []
    default:
      return [unknownOfClaude(state, nameOf('stream_event/content_block_delta', delta), event)]
  }
}

interface Speech {
  kind: 'text' | 'thinking'
  text: unknown
}

function say(state: TranslatorState, scope: Scope, { kind, text }: Speech): UIEvent[] {
  if (typeof text !== 'string' || text === '') return []
  const open = openSpeech(scope, kind)
  if (open.isFull || open.text.length + text.length > MAX_TEXT_CHARS) return overflow(state, scope, open)
  open.text += text
  const { sessionId } = state
  const { parentToolUseId } = scope
  const type = kind === 'text' ? 'chat:delta' : 'chat:thinking'
  const messageId = open.id
  return parentToolUseId === undefined
    ? [{ type, sessionId, text, messageId }]
    : [{ type, sessionId, text, messageId, parentToolUseId }]
}

/** A delta without its start (a spool that is read from the middle) opens the block. */
function openSpeech(scope: Scope, kind: 'text' | 'thinking'): Extract<OpenBlock, { text: string }> {
  const { open } = scope
  if (open?.kind === kind) return open
  const created = { kind, id: blockId(scope, kind), text: '' }
  scope.open = created
  return created
}

function writeInput(state: TranslatorState, scope: Scope, delta: unknown): UIEvent[] {
  const { open, parentToolUseId } = scope
  if (typeof delta !== 'string' || delta === '' || open?.kind !== 'tool') return []
  open.inputChars = (open.inputChars ?? 0) + delta.length
  if (open.isFull || open.inputChars > MAX_TEXT_CHARS) return overflow(state, scope, open)
  const { sessionId } = state
  const { toolUseId } = open
  return parentToolUseId === undefined
    ? [{ type: 'tool:input', sessionId, toolUseId, delta }]
    : [{ type: 'tool:input', sessionId, toolUseId, delta, parentToolUseId }]
}

function overflow({ sessionId }: TranslatorState, { parentToolUseId }: Scope, open: OpenBlock): UIEvent[] {
  if (open.isFull) return []
  open.isFull = true
  return [tooLong(sessionId, parentToolUseId)]
}

function startMessage(state: TranslatorState, scope: Scope, inner: JsonObject): UIEvent[] {
  const message = asObject(inner.message) ?? {}
  const events = [...closeOpenBlock(state, scope, 'discarded'), ...flushUsage(state, scope)]
  enterMessage(scope, asText(message.id) ?? '', asText(message.model))
  scope.usageAtStart = message.usage
  state.lastRetry = null
  return events
}

function endMessage(state: TranslatorState, scope: Scope, inner: JsonObject): UIEvent[] {
  if (asObject(inner.usage)) scope.usage = mergeUsage(scope.usageAtStart, inner.usage)
  return asObject(inner.delta)?.stop_reason === 'refusal' ? reportRefusal(state, scope) : []
}

function startBlock(state: TranslatorState, scope: Scope, event: ClaudeStreamEvent): UIEvent[] {
  // No event confirmed the previous block: the agent dropped it, as it does with blank text.
  const events = closeOpenBlock(state, scope, 'discarded')
  const block = asObject(asObject(event.event)?.content_block)
  if (block?.type === 'text' || block?.type === 'thinking') {
    const kind = block.type
    scope.open = { kind, id: blockId(scope, kind), text: '' }
    return [...events, ...say(state, scope, { kind, text: block[kind] })]
  }
  // Complete from the start, so the following assistant event has all of it.
  if (block && (block.type === 'redacted_thinking' || isToolResult(block))) return events
  if (block && isToolUse(block)) {
    scope.open = { kind: 'tool', toolUseId: block.id }
    return [...events, ...startClaudeTool(state, scope, { ...block, input: {} })]
  }
  return [...events, unknownOfClaude(state, nameOf('stream_event/content_block_start', block), event)]
}

function nameOf(prefix: string, value: JsonObject | undefined): string {
  return typeof value?.type === 'string' ? `${prefix}/${value.type}` : prefix
}
