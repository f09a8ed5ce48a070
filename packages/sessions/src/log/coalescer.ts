import type { UIEvent } from '@chirality/core'

export interface Addressed {
  event: UIEvent
  turnId: string | null
}

/**
 * Joins consecutive pieces of the same text, thinking or tool input, before they get a `seq`. The first piece of a run
 * passes at once, so a slow stream is not delayed; what follows it within the window waits and becomes one event.
 */
export class DeltaCoalescer {
  readonly #windowMs: number
  readonly #onWindowEnd: () => void
  #key: string | undefined
  #held: { parts: string[]; chars: number; last: Addressed } | undefined
  #timer: NodeJS.Timeout | undefined

  /** `onWindowEnd` is called when something was held long enough: `take()` it. */
  constructor(windowMs: number, onWindowEnd: () => void) {
    this.#windowMs = windowMs
    this.#onWindowEnd = onWindowEnd
  }

  /** What has to be written now, in order. Empty when the event waits for more of its kind. */
  push(item: Addressed): Addressed[] {
    const delta = this.#windowMs > 0 ? asDelta(item) : undefined
    if (delta === undefined) return [...this.end(), item]
    if (delta.key !== this.#key) {
      const before = this.end()
      this.#key = delta.key
      this.#openWindow()
      return [...before, item]
    }
    this.#held ??= { parts: [], chars: 0, last: item }
    this.#held.parts.push(delta.text)
    this.#held.chars += delta.text.length
    return this.#held.chars >= MAX_HELD_CHARS ? this.take() : []
  }

  /** What is held, as one event. The run goes on. */
  take(): Addressed[] {
    const held = this.#held
    this.#held = undefined
    return held === undefined ? [] : [joined(held.last, held.parts.join(''))]
  }

  /** What is held; and whatever comes next starts a new run. */
  end(): Addressed[] {
    this.#key = undefined
    clearTimeout(this.#timer)
    return this.take()
  }

  #openWindow(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#held === undefined) {
        this.#key = undefined
        return
      }
      this.#openWindow()
      this.#onWindowEnd()
    }, this.#windowMs)
  }
}

/** Bounds what a crash can take along, and how long a line gets. */
const MAX_HELD_CHARS = 4096

function asDelta({ event, turnId }: Addressed): { key: string; text: string } | undefined {
  switch (event.type) {
    case 'chat:delta': {
      const { type, sessionId, text, messageId, parentToolUseId, ...others } = event
      return delta([type, turnId, sessionId, messageId, parentToolUseId], text, others)
    }
    case 'chat:thinking': {
      if (event.final) return undefined
      const { type, sessionId, text, messageId, parentToolUseId, final: _, ...others } = event
      return delta([type, turnId, sessionId, messageId, parentToolUseId], text, others)
    }
    case 'tool:input': {
      if (event.delta === undefined) return undefined
      const { type, sessionId, delta: text, toolUseId, parentToolUseId, input: _, ...others } = event
      return delta([type, turnId, sessionId, toolUseId, parentToolUseId], text, others)
    }
    default:
      return undefined
  }
}

/** A field that this version does not know cannot be joined, so such an event stays alone. */
function delta(identity: unknown[], text: string, others: object) {
  return Object.keys(others).length > 0 ? undefined : { key: JSON.stringify(identity), text }
}

function joined({ event, turnId }: Addressed, text: string): Addressed {
  switch (event.type) {
    case 'chat:delta':
    case 'chat:thinking':
      return { turnId, event: { ...event, text } }
    case 'tool:input':
      return event.delta === undefined ? { event, turnId } : { turnId, event: { ...event, delta: text } }
    default:
      return { event, turnId }
  }
}
