import type { UIEvent } from '../../events/ui-event.ts'
import { asNumber, type JsonObject } from '../../native/loose.ts'
import { MAX_TEXT_CHARS, status, tooLong } from '../shared.ts'
import { type CodexState, newItemId, type Speech } from './state.ts'

/** A text or reasoning item starts: the one before it will not be completed. */
export function beginSpeech(state: CodexState, kind: Speech['kind'], nativeId: string): UIEvent[] {
  const events: UIEvent[] = []
  for (const [id, speech] of state.turn.speech) {
    if (id === nativeId || speech.closed) continue
    if (speech.broken) events.push(...withdraw(state, speech))
    else if (speech.kind === kind) events.push(...abort(state, speech))
  }
  return events
}

/** A delta without its start (a spool that is read from the middle) opens the item itself. */
export function openSpeech(state: CodexState, kind: Speech['kind'], nativeId: string): Speech {
  const speech: Speech = {
    id: newItemId(state, nativeId),
    kind,
    text: '',
    held: state.turn.repeats.couldBe(words(kind, '')),
    shown: false,
    broken: false,
    closed: false,
    isFull: false,
    source: null,
    part: 0,
  }
  state.turn.speech.set(nativeId, speech)
  return speech
}

/** Adds a delta. Hot path: no copies, no helpers. */
export function say(state: CodexState, speech: Speech, text: string): UIEvent[] {
  if (speech.isFull || speech.text.length + text.length > MAX_TEXT_CHARS) return overflow(state, speech)
  speech.text += text
  if (speech.held) return sayIfNew(state, speech)
  speech.shown = true
  const { sessionId } = state
  const messageId = speech.id
  return speech.kind === 'text'
    ? [{ type: 'chat:delta', sessionId, text, messageId }]
    : [{ type: 'chat:thinking', sessionId, text, messageId }]
}

function overflow({ sessionId }: CodexState, speech: Speech): UIEvent[] {
  if (speech.isFull) return []
  speech.isFull = true
  return [tooLong(sessionId)]
}

/** Completes a text, streamed or not. `text` is missing when the item has none. */
export function finishSpeech(
  state: CodexState,
  kind: Speech['kind'],
  { nativeId, text: stated }: { nativeId: string; text: string | undefined },
): UIEvent[] {
  const { turn, sessionId } = state
  const speech = turn.speech.get(nativeId)
  turn.speech.delete(nativeId)
  const text = stated ?? speech?.text ?? ''
  if (text.trim() === '') return speech?.shown ? withdraw(state, speech) : []
  if (kind === 'text') turn.answer = text
  if (turn.repeats.take(words(kind, text))) return speech?.shown ? withdraw(state, speech) : []
  turn.repeats.said(words(kind, text))
  turn.lastRetry = ''
  const messageId = speech?.id ?? newItemId(state, nativeId)
  return kind === 'text'
    ? [{ type: 'chat:message', sessionId, messageId, text }]
    : [{ type: 'chat:thinking', sessionId, messageId, text, final: true }]
}

/**
 * At the end of the turn or the output: keeps unfinished texts as they are, unless a repeated request succeeded without
 * them.
 */
export function closeSpeech(state: CodexState, succeeded: boolean): UIEvent[] {
  const events: UIEvent[] = []
  for (const speech of state.turn.speech.values()) {
    if (!speech.closed) events.push(...(succeeded && speech.broken ? withdraw : abort)(state, speech))
  }
  state.turn.speech.clear()
  return events
}

/** The stream broke and the request is repeated. */
export function breakSpeech(state: CodexState): void {
  for (const speech of state.turn.speech.values()) speech.broken = true
  state.turn.repeats.broke()
}

function sayIfNew(state: CodexState, speech: Speech): UIEvent[] {
  if (state.turn.repeats.couldBe(words(speech.kind, speech.text))) return []
  const { text } = speech
  speech.held = false
  speech.text = ''
  return say(state, speech, text)
}

function abort(state: CodexState, speech: Speech): UIEvent[] {
  speech.closed = true
  if (!speech.shown) return []
  const { sessionId } = state
  const { id: messageId, text } = speech
  return speech.kind === 'text'
    ? [{ type: 'chat:message', sessionId, messageId, text, aborted: true }]
    : [{ type: 'chat:thinking', sessionId, messageId, text, final: true }]
}

function withdraw(state: CodexState, speech: Speech): UIEvent[] {
  speech.closed = true
  if (!speech.shown) return []
  const { sessionId } = state
  const messageId = speech.id
  return speech.kind === 'text'
    ? [{ type: 'chat:message', sessionId, messageId, text: '', discarded: true }]
    : [{ type: 'chat:thinking', sessionId, messageId, text: '', final: true }]
}

function words(kind: Speech['kind'], text: string): string {
  return `${kind}:${text}`
}

/** The deltas of app-server; `exec` has none. */
export function translateTextDelta(state: CodexState, params: JsonObject): UIEvent[] {
  const { itemId, delta } = params
  if (typeof itemId !== 'string' || typeof delta !== 'string' || delta === '') return []
  return say(state, state.turn.speech.get(itemId) ?? openSpeech(state, 'text', itemId), delta)
}

/** A reasoning item has a summary, raw content, or both; the one that arrives first is shown while it is written. */
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

/** The output is incomplete, because the first piece is never sent. The result has all of it. */
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

export function translateCallProgress(state: CodexState, params: JsonObject): UIEvent[] {
  const { itemId, message, stdin } = params
  const call = typeof itemId === 'string' ? state.tools.get(itemId) : undefined
  const text = typeof stdin === 'string' ? 'The agent typed something into the command' : message
  if (!call || typeof text !== 'string' || text === '') return []
  const data = { toolName: call.name, ...(typeof stdin === 'string' ? { stdin } : {}) }
  return [status(state, 'tool_progress', { message: text, toolUseId: call.id, data })]
}
