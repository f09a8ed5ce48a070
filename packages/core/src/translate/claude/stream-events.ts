import type { ClaudeStreamEvent } from '../../native/claude/message-events.ts'
import { asObject, asText, type JsonObject } from '../../native/loose.ts'
import type { UIEvent } from '../../ui-event.ts'
import { closeOpenBlock } from './open-block.ts'
import { blockId, enterMessage, type OpenBlock, type Scope, scopeOf, type TranslatorState } from './state.ts'
import { isToolUse, startTool } from './tools.ts'
import { present, unknown } from './ui.ts'
import { mergeUsage } from './usage.ts'

/** Pieces of an answer while the model writes it. The deltas are the hot path: no copies, no helpers. */
export function translateStreamEvent(state: TranslatorState, event: ClaudeStreamEvent): UIEvent[] {
  const inner = asObject(event.event)
  if (!inner) return [unknown(state, 'stream_event', event)]
  const scope = scopeOf(state, event.parent_tool_use_id)
  switch (inner.type) {
    case 'content_block_delta':
      return translateDelta(state, scope, event)
    case 'content_block_start':
      return startBlock(state, scope, event)
    case 'message_start':
      return startMessage(state, scope, inner)
    case 'message_delta':
      return endMessage(scope, inner)
    case 'message_stop':
      return flushUsage(state, scope)
    case 'content_block_stop':
    case 'ping':
      return []
    default:
      return [unknown(state, nameOf('stream_event', inner), event)]
  }
}

/** One usage event per answer, and only from its last count: earlier ones would be added up twice. */
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
      return say(state, scope, 'text', delta.text)
    case 'thinking_delta':
      return say(state, scope, 'thinking', delta.thinking)
    case 'input_json_delta':
      return writeInput(state, scope, delta.partial_json)
    case 'signature_delta':
    case 'citations_delta':
      return []
    default:
      return [unknown(state, nameOf('stream_event/content_block_delta', delta), event)]
  }
}

function say(state: TranslatorState, scope: Scope, kind: 'text' | 'thinking', text: unknown): UIEvent[] {
  if (typeof text !== 'string' || text === '') return []
  const open = openSpeech(scope, kind)
  open.text += text
  const { sessionId } = state
  const { parentToolUseId } = scope
  const messageId = open.id
  if (parentToolUseId !== undefined) {
    return kind === 'text'
      ? [{ type: 'chat:delta', sessionId, text, messageId, parentToolUseId }]
      : [{ type: 'chat:thinking', sessionId, text, messageId, parentToolUseId }]
  }
  return kind === 'text'
    ? [{ type: 'chat:delta', sessionId, text, messageId }]
    : [{ type: 'chat:thinking', sessionId, text, messageId }]
}

/** A delta without its start (a spool that is read from the middle) opens the block itself. */
function openSpeech(scope: Scope, kind: 'text' | 'thinking'): Extract<OpenBlock, { text: string }> {
  const { open } = scope
  if (open?.kind === kind) return open
  const created = { kind, id: blockId(scope, kind), text: '' }
  scope.open = created
  return created
}

function writeInput(state: TranslatorState, scope: Scope, piece: unknown): UIEvent[] {
  const { open } = scope
  if (typeof piece !== 'string' || piece === '' || open?.kind !== 'tool') return []
  const { parentToolUseId } = scope
  const { toolUseId } = open
  return [
    present({ type: 'tool:input', sessionId: state.sessionId, toolUseId, delta: piece, parentToolUseId }),
  ]
}

function startMessage(state: TranslatorState, scope: Scope, inner: JsonObject): UIEvent[] {
  const message = asObject(inner.message) ?? {}
  const events = [...closeOpenBlock(state, scope, 'discarded'), ...flushUsage(state, scope)]
  enterMessage(scope, asText(message.id) ?? '', asText(message.model))
  scope.usageAtStart = message.usage
  state.lastRetry = null
  return events
}

function endMessage(scope: Scope, inner: JsonObject): UIEvent[] {
  if (asObject(inner.usage)) scope.usage = mergeUsage(scope.usageAtStart, inner.usage)
  return []
}

function startBlock(state: TranslatorState, scope: Scope, event: ClaudeStreamEvent): UIEvent[] {
  // Nothing confirmed the block before this one: the agent dropped it.
  const events = closeOpenBlock(state, scope, 'discarded')
  const block = asObject(asObject(event.event)?.content_block)
  switch (block?.type) {
    case 'text':
    case 'thinking':
      scope.open = { kind: block.type, id: blockId(scope, block.type), text: '' }
      return [...events, ...say(state, scope, block.type, block[block.type])]
    case 'redacted_thinking':
      return events
    default:
      break
  }
  if (block && isToolUse(block)) {
    scope.open = { kind: 'tool', toolUseId: block.id }
    return [...events, ...startTool(state, scope, { ...block, input: {} })]
  }
  return [...events, unknown(state, nameOf('stream_event/content_block_start', block), event)]
}

function nameOf(prefix: string, value: JsonObject | undefined): string {
  return typeof value?.type === 'string' ? `${prefix}/${value.type}` : prefix
}
