import type { SessionErrorEvent, TurnEndReason, UIEvent } from '@chirality/core'
import { isOutput } from './turn-events.ts'

/** What may be said now, and whether the attempt is to be made again. */
export interface Held {
  events: UIEvent[]
  /** The error that the attempt ended with. */
  retryAfter?: SessionErrorEvent
}

/**
 * Keeps the end of an attempt back while it may not be the end of the turn: an agent that crashed before the model said
 * anything is started once more. After the first word a turn is never repeated: it was paid for, and may have done
 * something.
 */
export class CrashHold {
  #mayRetry: boolean
  #error: SessionErrorEvent | undefined
  #held: UIEvent[] = []

  constructor(mayRetry: boolean) {
    this.#mayRetry = mayRetry
  }

  /** From here on the end of the attempt is the end of the turn. */
  forbid(): void {
    this.#mayRetry = false
  }

  push(event: UIEvent): Held {
    if (isOutput(event)) this.#mayRetry = false
    if (!this.#mayRetry) return { events: [...this.release(), event] }
    if (isCrash(event)) {
      this.#error = event
      this.#held.push(event)
      return { events: [] }
    }
    if (this.#error === undefined) return { events: [event] }
    if (event.type !== 'turn:end') {
      this.#held.push(event)
      return { events: [] }
    }
    const error = this.#error
    if (!RETRIED.has(event.reason)) return { events: [...this.release(), event] }
    const events = this.release().map(held => (held === error ? { ...error, recovered: true } : held))
    this.#mayRetry = false
    return { events, retryAfter: error }
  }

  /** What was kept back, when nothing more comes. */
  release(): UIEvent[] {
    const held = this.#held
    this.#held = []
    this.#error = undefined
    return held
  }
}

const RETRIED: ReadonlySet<TurnEndReason> = new Set<TurnEndReason>(['crashed'])

function isCrash(event: UIEvent): event is SessionErrorEvent {
  return (
    event.type === 'session:error' && event.code === 'process_crashed' && !event.recovered && !event.costUsd
  )
}
