import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeUserEvent } from '../../../native/claude/message-events.ts'
import { asArray, asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { headline } from '../../shared.ts'
import type { TranslatorState } from '../state.ts'
import { isToolResult, translateToolResult } from '../tools/tools.ts'
import { status, unknown } from '../ui.ts'
import { cutAnswer, reportRefusal } from './open-block.ts'

const INTERRUPTED = '[Request interrupted by user'

/** Tool results, and messages that the CLI adds with the user role. */
export function translateUser(state: TranslatorState, event: ClaudeUserEvent): UIEvent[] {
  if (event.isReplay === true) return []
  const message = asObject(event.message)
  if (!message) return [unknown(state, 'user', event)]
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
      return [unknown(state, typeof block.type === 'string' ? `user/${block.type}` : 'user', event)]
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
  state.main.lastText = null
  const refused = asText(event.refused_message_id) ? reportRefusal(state, state.main) : []
  return [
    ...refused,
    status(state, 'notice', { message: headline(text), data: { kind: 'user_message', text } }),
  ]
}
