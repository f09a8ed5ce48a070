import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeModelRefusalEvent } from '../../../native/claude/system-events.ts'
import { asText } from '../../../native/loose.ts'
import { present, status } from '../../shared.ts'
import type { SaidBlock, Scope, TranslatorState } from '../state.ts'

const UNFINISHED_CALL = 'The model never finished writing this call, so it did not run.'
const WITHDRAWN_CALL = 'The model took this call back before it ran.'
const ENDED_CALL = 'This call has no result: the turn ended before it ran or while it did.'

/**
 * Closes blocks that were streamed and never confirmed. `discarded`: another answer replaces them. `aborted`: the text
 * so far stays.
 */
export function closeOpenBlock(
  state: TranslatorState,
  scope: Scope,
  how: 'discarded' | 'aborted',
): UIEvent[] {
  const { open } = scope
  if (!open) return []
  scope.open = null
  // The text so far was already emitted.
  if (open.kind !== 'tool' && open.broken && how === 'aborted') return []
  if (open.kind === 'tool') return failTool(state, open.toolUseId, UNFINISHED_CALL)
  if (open.text === '') return []
  const { parentToolUseId } = scope
  const { sessionId } = state
  // The agent drops blank text too, so it is not kept.
  const text = how === 'aborted' && open.text.trim() !== '' ? open.text : ''
  if (open.kind === 'thinking') {
    return [
      present({ type: 'chat:thinking', sessionId, text, messageId: open.id, final: true, parentToolUseId }),
    ]
  }
  return [
    present({
      type: 'chat:message',
      sessionId,
      messageId: open.id,
      text,
      ...(text === '' ? { discarded: true } : { aborted: true, model: scope.model }),
      parentToolUseId,
    }),
  ]
}

/** The stream broke: the text stays, marked as cut, until another attempt replaces it. */
export function breakOpenBlock(state: TranslatorState, scope: Scope): UIEvent[] {
  const { open } = scope
  const events = closeOpenBlock(state, scope, 'aborted')
  if (open && open.kind !== 'tool' && open.text.trim() !== '') scope.open = { ...open, broken: true }
  return events
}

/** The text that was held back is whole: something of its answer follows, or its turn is over. */
export function tellHeld(scope: Scope): UIEvent[] {
  const { held } = scope
  scope.held = null
  return held ? [held] : []
}

/** A person stopped the answer. 2.1.197 confirms the part so far as if it were complete. */
export function cutAnswer(state: TranslatorState, scope: Scope): UIEvent[] {
  const cut = tellHeld(scope).map(held => ({ ...held, aborted: true }))
  return [...cut, ...closeOpenBlock(state, scope, 'aborted')]
}

/** After a turn that failed: calls of the main agent that still have no result, and those of the sub-agents they ran. */
export function endOpenCalls(state: TranslatorState): UIEvent[] {
  const ended = new Set<string>()
  return [...state.tools].flatMap(([toolUseId, { finished, parentToolUseId: parent }]) => {
    if (finished || (parent !== undefined && !ended.has(parent))) return []
    ended.add(toolUseId)
    return failTool(state, toolUseId, ENDED_CALL)
  })
}

/** Withdraws messages that another one replaces, as the agent says. */
export function retract(state: TranslatorState, uuids: readonly string[]): UIEvent[] {
  return uuids.flatMap(uuid => {
    const blocks = state.said.get(uuid) ?? []
    state.said.delete(uuid)
    return blocks.flatMap(block => retractBlock(state, block))
  })
}

function retractBlock(state: TranslatorState, block: SaidBlock): UIEvent[] {
  if (block.kind === 'tool') return failTool(state, block.toolUseId, WITHDRAWN_CALL)
  const { sessionId } = state
  const { id: messageId, parentToolUseId } = block
  return block.kind === 'text'
    ? [present({ type: 'chat:message', sessionId, messageId, text: '', discarded: true, parentToolUseId })]
    : [present({ type: 'chat:thinking', sessionId, messageId, text: '', final: true, parentToolUseId })]
}

/** A call that will never run still gets a result, or it would be shown as running forever. */
function failTool(state: TranslatorState, toolUseId: string, content: string): UIEvent[] {
  const call = state.tools.get(toolUseId)
  if (!call || call.finished) return []
  call.finished = true
  const { parentToolUseId } = call
  return [
    present({
      type: 'tool:result',
      sessionId: state.sessionId,
      toolUseId,
      content,
      isError: true,
      parentToolUseId,
    }),
  ]
}

/**
 * One version reports a refusal in a system event, another only in the stop reason or in a message with the user role:
 * the first one counts, once for each answer.
 */
export function reportRefusal(
  state: TranslatorState,
  scope: Scope,
  event?: ClaudeModelRefusalEvent,
): UIEvent[] {
  if (scope.refused) return []
  scope.refused = true
  return [
    status(state, 'refused', {
      message: asText(event?.content) ?? 'The model refused to go on',
      level: 'warn',
      parentToolUseId: scope.parentToolUseId,
      data: {
        model: asText(event?.original_model) ?? scope.model,
        category: asText(event?.api_refusal_category),
        explanation: asText(event?.api_refusal_explanation),
      },
    }),
  ]
}
