import type { ChatMessageEvent, UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeAssistantEvent } from '../../../native/claude/message-events.ts'
import { asArray, asNumber, asObject, asStrings, asText, type JsonObject } from '../../../native/loose.ts'
import { present, status } from '../../shared.ts'
import {
  blockId,
  enterMessage,
  type SaidBlock,
  type Scope,
  scopeOf,
  type TranslatorState,
  unknownOfClaude,
} from '../state.ts'
import { confirmTool, flattenContent, isToolResult, isToolUse, translateToolResult } from '../tools/tools.ts'
import { closeOpenBlock, retract, tellHeld } from './open-block.ts'

const SYNTHETIC_MODEL = '<synthetic>'

/** The CLI's text for a slash command that prints nothing. */
const NO_CONTENT = '(no content)'

/** Final blocks of an answer: they confirm the streamed ones, or are the first to bring the content. */
export function translateAssistant(state: TranslatorState, event: ClaudeAssistantEvent): UIEvent[] {
  const message = asObject(event.message)
  if (!message) return [unknownOfClaude(state, 'assistant', event)]
  const scope = scopeOf(state, event.parent_tool_use_id)
  if (isApiFailure(event, message)) return noteFailure(state, scope, event)
  const events = [
    ...tellHeld(scope),
    ...reportRecovered(state, scope),
    ...retract(state, asStrings(event.supersedes)),
  ]
  const messageId = asText(message.id) ?? asText(event.uuid) ?? ''
  if (scope.messageId !== messageId) events.push(...closeOpenBlock(state, scope, 'discarded'))
  enterMessage(scope, messageId, asText(message.model))
  const isModels = message.model !== SYNTHETIC_MODEL
  if (isModels) state.lastRetry = null
  if (scope === state.main) state.forkPoint = (isModels ? asText(event.uuid) : undefined) ?? null
  for (const block of blocksOf(message.content)) {
    events.push(...tellHeld(scope), ...confirmBlock(state, scope, { event, block }))
    scope.confirmed++
  }
  return events
}

/** The failure of a request that the turn survived would otherwise not be shown. */
export function reportRecovered(state: TranslatorState, scope: Scope): UIEvent[] {
  const { failure } = state
  if (!failure || scope !== state.main) return []
  state.failure = null
  return [status(state, 'notice', { message: failure.text, level: 'warn', data: { kind: 'api_error' } })]
}

interface BlockContext {
  event: ClaudeAssistantEvent
  block: JsonObject
}

function confirmBlock(state: TranslatorState, scope: Scope, context: BlockContext): UIEvent[] {
  const { event, block } = context
  if (block.type === 'text' || block.type === 'thinking') return confirmSpeech(state, scope, context)
  if (block.type === 'redacted_thinking') return []
  if (isToolUse(block)) {
    remember(state, event, { kind: 'tool', toolUseId: block.id })
    return confirmTool(state, scope, block)
  }
  if (isToolResult(block)) return [translateToolResult(state, block, { parent: scope.parentToolUseId })]
  const name = typeof block.type === 'string' ? `assistant/${block.type}` : 'assistant'
  return [unknownOfClaude(state, name, event)]
}

function confirmSpeech(state: TranslatorState, scope: Scope, { event, block }: BlockContext): UIEvent[] {
  const kind = block.type === 'text' ? 'text' : 'thinking'
  const said = asText(block[kind]) ?? ''
  const text = scope.model === SYNTHETIC_MODEL && said === NO_CONTENT ? '' : said
  const id = blockId(scope, kind)
  const open = scope.open?.kind === kind ? scope.open : undefined
  const streamed = open !== undefined && open.text !== ''
  if (open) scope.open = null
  if (text === '' && !streamed) return []
  const { parentToolUseId } = scope
  const { sessionId } = state
  remember(state, event, { kind, id, parentToolUseId })
  if (kind === 'thinking') {
    return [present({ type: 'chat:thinking', sessionId, text, messageId: id, final: true, parentToolUseId })]
  }
  const model = scope.model === SYNTHETIC_MODEL ? undefined : scope.model
  const aborted = event.aborted === true ? true : undefined
  const fields: ChatMessageEvent = { type: 'chat:message', sessionId, messageId: id, text }
  const message = present({ ...fields, model, aborted, parentToolUseId })
  // Claude Code ends the stream of a block after it has confirmed the block.
  const mayBeCut = streamed && !open.isOver && !aborted && scope === state.main
  if (!mayBeCut) return [message]
  scope.held = message
  return []
}

function remember(state: TranslatorState, event: ClaudeAssistantEvent, block: SaidBlock): void {
  if (typeof event.uuid === 'string')
    state.said.set(event.uuid, [...(state.said.get(event.uuid) ?? []), block])
}

function isApiFailure(event: ClaudeAssistantEvent, message: JsonObject): boolean {
  const failed = typeof event.error === 'string' || event.is_api_error_message === true
  return failed && message.model === SYNTHETIC_MODEL
}

/** The result repeats this text; as chat it would be shown twice, and as a model's message. */
function noteFailure(state: TranslatorState, scope: Scope, event: ClaudeAssistantEvent): UIEvent[] {
  const text = flattenContent(asObject(event.message)?.content)
  const error = asText(event.error)
  if (scope !== state.main) {
    const { parentToolUseId } = scope
    return [
      status(state, 'notice', {
        message: text,
        level: 'error',
        parentToolUseId,
        data: { kind: 'api_error', error },
      }),
    ]
  }
  state.failure = { error, status: asNumber(event.api_error_status), text }
  return []
}

function blocksOf(content: unknown): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return asArray(content).map(block => asObject(block) ?? {})
}
