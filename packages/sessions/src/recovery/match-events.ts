import { isDeepStrictEqual } from 'node:util'
import { continuesDelta, deltaText, isDelta, type UIEvent, withDeltaText } from '@chirality/core'

/**
 * Compares the events of a turn, as its harness restores them, with those in the log. Both have the same order; the log
 * may have joined pieces of text, has events of the host in between, and can end anywhere, also in the middle of a
 * joined text. Events lost in a damaged part of the log stay lost: a `log:gap` marks the place, and adding them later
 * would be out of order.
 */
export class EventMatcher {
  readonly #logged: Iterator<UIEvent>
  /** Read from the log and not found in the turn yet. */
  readonly #ahead: UIEvent[] = []
  #ended = false

  constructor(logged: Iterable<UIEvent>) {
    this.#logged = logged[Symbol.iterator]()
  }

  /** The part of this event that the log lacks: all of it, the rest of a piece of text, or nothing. */
  missing(event: UIEvent): UIEvent | undefined {
    const at = this.#find(event)
    if (at === undefined) return this.#unknown(event)
    const found = this.#ahead[at]
    this.#ahead.splice(0, at)
    if (found === undefined || !isDelta(event) || !isDelta(found)) {
      this.#ahead.shift()
      return undefined
    }
    const [logged, piece] = [deltaText(found), deltaText(event)]
    if (logged.length > piece.length) {
      this.#ahead[0] = withDeltaText(found, logged.slice(piece.length))
      return undefined
    }
    this.#ahead.shift()
    return logged.length === piece.length
      ? undefined
      : this.missing(withDeltaText(event, piece.slice(logged.length)))
  }

  /** Skips events of the host and the log, but never one of the agent. */
  #find(event: UIEvent): number | undefined {
    for (let at = 0; ; at += 1) {
      const logged = this.#peek(at)
      if (logged === undefined) return undefined
      if (fits(logged, event)) return at
      if (!isAside(logged)) return undefined
    }
  }

  #unknown(event: UIEvent): UIEvent | undefined {
    const { firm, gap } = this.#next()
    // The log ends here: all following events are new.
    if (firm === undefined) return event
    if (gap === undefined) return isAside(event) ? undefined : event
    if (isDelta(event) || isAside(event)) return undefined
    // A gap can hold no more events than it had lines.
    if (gap.missing <= 0) return event
    gap.missing -= 1
    return undefined
  }

  /** The agent's next event in the log, and the damage before it. */
  #next(): { firm?: UIEvent; gap?: { missing: number } } {
    let gap: { missing: number } | undefined
    for (let at = 0; ; at += 1) {
      const logged = this.#peek(at)
      if (logged === undefined) return { gap }
      if (logged.type === 'log:gap') gap = logged
      else if (!isAside(logged)) return { firm: logged, gap }
    }
  }

  #peek(at: number): UIEvent | undefined {
    while (this.#ahead.length <= at && !this.#ended) {
      const { done, value } = this.#logged.next()
      if (done) this.#ended = true
      // A copy, because the events lost in a gap are counted in it.
      else this.#ahead.push({ ...value })
    }
    return this.#ahead[at]
  }
}

/** Two pieces of the same text match if one begins like the other: either may be longer. */
function fits(logged: UIEvent, event: UIEvent): boolean {
  if (!isDelta(event) || !isDelta(logged)) return isSameEvent(logged, event)
  if (!continuesDelta(event, logged)) return false
  const [a, b] = [deltaText(logged), deltaText(event)]
  return a.length > b.length ? a.startsWith(b) : b.startsWith(a)
}

/**
 * Whether an event of the log is this one. Events that a harness makes itself can differ a little when it restores a
 * turn: the duration, or the exit of a process that no longer exists.
 */
function isSameEvent(logged: UIEvent, event: UIEvent): boolean {
  if (logged.type !== event.type) return false
  switch (event.type) {
    case 'turn:start':
    case 'turn:end':
    case 'process:exit':
      return true
    case 'status':
      return logged.type === 'status' && logged.status === event.status && logged.message === event.message
    case 'session:error':
      return logged.type === 'session:error' && logged.code === event.code
    case 'permission:request':
    case 'permission:resolved':
      return 'requestId' in logged && logged.requestId === event.requestId
    case 'usage':
    case 'session:complete':
      return isDeepStrictEqual(asStored(unpriced(logged)), asStored(unpriced(event)))
    case 'tool:start':
    case 'tool:input':
    case 'tool:result':
      return isDeepStrictEqual(asStored(factless(logged)), asStored(factless(event)))
    default:
      return isDeepStrictEqual(logged, asStored(event))
  }
}

/** The host added the list price when it recorded the event. */
function unpriced(event: UIEvent): UIEvent {
  return { ...event, estimateUsd: undefined } as UIEvent
}

/** The version that started the turn may have recorded no facts, or other ones. */
function factless(event: UIEvent): unknown {
  return { ...event, facts: undefined, edits: undefined }
}

/**
 * Events that may be in a log between two events of an agent: those of the host or the log, and those that are not
 * restored.
 */
export function isAside({ type }: UIEvent): boolean {
  return ASIDE.has(type)
}

export const ASIDE: ReadonlySet<string> = new Set(['status', 'budget', 'permission:resolved', 'log:gap'])

/** The log stores JSON, which has no `undefined`. */
function asStored(event: unknown): unknown {
  return JSON.parse(JSON.stringify(event))
}
