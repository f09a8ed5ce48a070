import type { ChatDeltaEvent, ChatThinkingEvent, ToolInputEvent, UIEvent } from '@chirality/core'

export interface Addressed {
  event: UIEvent
  turnId: string | null
}

/** A piece of something longer. */
export type DeltaEvent = ChatDeltaEvent | ChatThinkingEvent | Extract<ToolInputEvent, { delta: string }>

interface Run {
  /** The last piece that came. */
  event: DeltaEvent
  turnId: string | null
  parts: string[]
  chars: number
}

/**
 * Joins consecutive pieces of the same text, thinking or tool input, before they get a `seq`. The first piece of a run
 * passes at once, so a slow stream is not delayed; what follows it within the window waits and becomes one event.
 */
export class DeltaCoalescer {
  readonly #windowMs: number
  readonly #onWindowEnd: () => void
  #run: Run | undefined
  #timer: NodeJS.Timeout | undefined

  /** `onWindowEnd` is called when something was held long enough: `take()` it. */
  constructor(windowMs: number, onWindowEnd: () => void) {
    this.#windowMs = windowMs
    this.#onWindowEnd = onWindowEnd
  }

  /** What has to be written now, in order. Empty when the event waits for more of its kind. */
  push(event: UIEvent, turnId: string | null): Addressed[] {
    if (this.#windowMs === 0 || !isDelta(event)) {
      return this.#run === undefined ? [{ event, turnId }] : [...this.end(), { event, turnId }]
    }
    const run = this.#run
    if (run === undefined || turnId !== run.turnId || !continues(event, run.event)) {
      const before = this.end()
      this.#run = { event, turnId, parts: [], chars: 0 }
      this.#openWindow()
      return [...before, { event, turnId }]
    }
    run.event = event
    run.parts.push(textOf(event))
    run.chars += textOf(event).length
    return run.chars >= MAX_HELD_CHARS ? this.take() : []
  }

  /** What is held, as one event. The run goes on. */
  take(): Addressed[] {
    const run = this.#run
    if (run === undefined || run.parts.length === 0) return []
    const { event, turnId, parts } = run
    run.parts = []
    run.chars = 0
    return [{ event: withText(event, parts.join('')), turnId }]
  }

  /** What is held; and whatever comes next starts a new run. */
  end(): Addressed[] {
    const held = this.take()
    this.#run = undefined
    clearTimeout(this.#timer)
    return held
  }

  #openWindow(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#run === undefined || this.#run.parts.length === 0) {
        this.#run = undefined
        return
      }
      this.#openWindow()
      this.#onWindowEnd()
    }, this.#windowMs)
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
