import type { ChatDeltaEvent, ChatThinkingEvent, ToolInputEvent, UIEvent } from './ui-event.ts'

/** A piece of a longer text, thinking block or tool input. */
export type DeltaEvent = ChatDeltaEvent | ChatThinkingEvent | Extract<ToolInputEvent, { delta: string }>

/**
 * Joins adjacent pieces of the same text, thinking or tool input, as far as one event stays readable. The reader of the
 * agent's output decides how much there is to join: the events of one read arrive here together.
 */
export function joinDeltas(events: readonly UIEvent[]): UIEvent[] {
  const joined: UIEvent[] = []
  let run: DeltaEvent[] = []
  let chars = 0
  const endRun = () => {
    const last = run.at(-1)
    if (last !== undefined)
      joined.push(run.length === 1 ? last : withDeltaText(last, run.map(deltaText).join('')))
    run = []
    chars = 0
  }
  for (const event of events) {
    if (!isDelta(event)) {
      endRun()
      joined.push(event)
      continue
    }
    const before = run.at(-1)
    const { length } = deltaText(event)
    if (before !== undefined && (!continuesDelta(event, before) || chars + length > MAX_JOINED_CHARS))
      endRun()
    run.push(event)
    chars += length
  }
  endRun()
  return joined
}

/** At this size the envelope is only some percent of a piece, and a page of a log still holds many. */
const MAX_JOINED_CHARS = 16 * 1024

export function isDelta(event: UIEvent): event is DeltaEvent {
  switch (event.type) {
    case 'chat:delta':
      return hasOnly(event, CHAT_FIELDS)
    case 'chat:thinking':
      return !event.final && hasOnly(event, CHAT_FIELDS)
    case 'tool:input':
      return event.delta !== undefined && hasOnly(event, TOOL_FIELDS)
    default:
      return false
  }
}

const CHAT_FIELDS = new Set(['type', 'sessionId', 'text', 'messageId', 'parentToolUseId', 'final'])
const TOOL_FIELDS = new Set(['type', 'sessionId', 'delta', 'toolUseId', 'parentToolUseId', 'input'])

/** Pieces with a field that this version does not know are not joined. */
function hasOnly(event: UIEvent, fields: ReadonlySet<string>): boolean {
  for (const field in event) if (!fields.has(field)) return false
  return true
}

export function continuesDelta(event: DeltaEvent, before: DeltaEvent): boolean {
  return (
    event.type === before.type &&
    idOf(event) === idOf(before) &&
    event.parentToolUseId === before.parentToolUseId &&
    event.sessionId === before.sessionId
  )
}

function idOf(event: DeltaEvent): string | undefined {
  return event.type === 'tool:input' ? event.toolUseId : event.messageId
}

export function deltaText(event: DeltaEvent): string {
  return event.type === 'tool:input' ? event.delta : event.text
}

export function withDeltaText(event: DeltaEvent, text: string): DeltaEvent {
  return event.type === 'tool:input' ? { ...event, delta: text } : { ...event, text }
}
