import type { ChatDeltaEvent, ChatThinkingEvent, ToolInputEvent, UIEvent } from '@chirality/core'

export interface Addressed {
  event: UIEvent
  turnId: string | null
}

/** A piece of something longer. */
export type DeltaEvent = ChatDeltaEvent | ChatThinkingEvent | Extract<ToolInputEvent, { delta: string }>

interface Run {
  /** When the first piece came. */
  since: number
  /** The last piece that came. */
  event: DeltaEvent
  turnId: string | null
  parts: string[]
  chars: number
}

/**
 * Joins consecutive pieces of the same text, thinking or tool input, before they get a `seq`. What came in the same turn of the
 * event loop is one event at the end of it, so a slow stream is not delayed; what comes soon after waits out the window.
 */
export class DeltaCoalescer {
  readonly #windowMs: number
  #run: Run | undefined
  /** When the first piece came of what was taken last. */
  #takenSince = Number.NEGATIVE_INFINITY

  /** 0 keeps every piece. */
  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** What has to be written now, in order. Empty when the event waits for more of its kind. */
  push(event: UIEvent, turnId: string | null): Addressed[] {
    if (this.#windowMs === 0 || !isDelta(event)) {
      return this.#run === undefined ? [{ event, turnId }] : [...this.take(), { event, turnId }]
    }
    const run = this.#run
    if (run === undefined || turnId !== run.turnId || !continues(event, run.event)) {
      const before = this.take()
      const text = textOf(event)
      this.#run = { since: performance.now(), event, turnId, parts: [text], chars: text.length }
      return before
    }
    run.event = event
    run.parts.push(textOf(event))
    run.chars += textOf(event).length
    return run.chars >= MAX_HELD_CHARS ? this.take() : []
  }

  /** How long what is held has to wait still; undefined when nothing is. */
  get dueMs(): number | undefined {
    if (this.#run === undefined) return undefined
    return Math.max(0, this.#windowMs - (performance.now() - this.#takenSince))
  }

  /** What is held, as one event. */
  take(): Addressed[] {
    const run = this.#run
    if (run === undefined) return []
    const { event, turnId, parts, since } = run
    this.#run = undefined
    this.#takenSince = since
    return [{ event: parts.length === 1 ? event : withText(event, parts.join('')), turnId }]
  }
}

/** Bounds what a crash can take along, and how long a line gets. */
const MAX_HELD_CHARS = 4096

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

/** A field that this version does not know cannot be joined, so such an event stays alone. */
function hasOnly(event: UIEvent, fields: ReadonlySet<string>): boolean {
  for (const name in event) if (!fields.has(name)) return false
  return true
}

export function continues(event: DeltaEvent, before: DeltaEvent): boolean {
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

export function textOf(event: DeltaEvent): string {
  return event.type === 'tool:input' ? event.delta : event.text
}

export function withText(event: DeltaEvent, text: string): DeltaEvent {
  return event.type === 'tool:input' ? { ...event, delta: text } : { ...event, text }
}
