import type { UIEvent } from '../../events/ui-event.ts'
import { asNumber, type JsonObject } from '../../native/loose.ts'
import { openSpeech, say } from './speech.ts'
import type { CodexState, Speech } from './state.ts'
import { status } from './ui.ts'

/** The pieces that app-server sends while something is written or runs; `exec` has none of them. */
export function translateTextDelta(state: CodexState, params: JsonObject): UIEvent[] {
  const { itemId, delta } = params
  if (typeof itemId !== 'string' || typeof delta !== 'string' || delta === '') return []
  return say(state, state.turn.speech.get(itemId) ?? openSpeech(state, 'text', itemId), delta)
}

/** A reasoning item has a summary, raw content, or both; the one that comes first is shown while it is written. */
export function translateReasoningDelta(
  state: CodexState,
  params: JsonObject,
  source: NonNullable<Speech['source']>,
): UIEvent[] {
  const { itemId, delta } = params
  if (typeof itemId !== 'string' || typeof delta !== 'string' || delta === '') return []
  const speech = state.turn.speech.get(itemId) ?? openSpeech(state, 'thinking', itemId)
  speech.source ??= source
  if (speech.source !== source) return []
  const part = asNumber(source === 'summary' ? params.summaryIndex : params.contentIndex) ?? speech.part
  const text = part > speech.part && speech.text !== '' ? `\n${delta}` : delta
  speech.part = part
  return say(state, speech, text)
}

/** Some of it is missing: the first piece never comes. The result has all of it. */
export function translateOutputDelta(state: CodexState, params: JsonObject): UIEvent[] {
  const { itemId, delta } = params
  const call = typeof itemId === 'string' ? state.tools.get(itemId) : undefined
  if (!call || typeof delta !== 'string' || delta === '') return []
  return [
    {
      type: 'status',
      sessionId: state.sessionId,
      status: 'tool_progress',
      message: 'The command printed something',
      level: 'info',
      toolUseId: call.id,
      data: { toolName: call.name, output: delta },
    },
  ]
}

export function translateToolProgress(state: CodexState, params: JsonObject): UIEvent[] {
  const { itemId, message, stdin } = params
  const call = typeof itemId === 'string' ? state.tools.get(itemId) : undefined
  const text = typeof stdin === 'string' ? 'The agent typed something into the command' : message
  if (!call || typeof text !== 'string' || text === '') return []
  const data = { toolName: call.name, ...(typeof stdin === 'string' ? { stdin } : {}) }
  return [status(state, 'tool_progress', { message: text, toolUseId: call.id, data })]
}
