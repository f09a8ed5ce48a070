import { isDeepStrictEqual } from 'node:util'
import { continuesDelta, deltaText, isDelta, type UIEvent, withDeltaText } from '@chirality/core'

/**
 * Compares the events of a turn, as its harness gives them again, with those that the log has of it. Both are in the same
 * order; the log may have joined pieces of text, has words of the host in between, and ends somewhere, also in the middle
 * of a joined text. What was lost in a damaged part of the log stays lost there: a `log:gap` says so, and to say it
 * later would be out of order.
 */
export class EventMatcher {
  readonly #logged: Iterator<UIEvent>
  /** Read from the log and not found in the turn yet. */
  readonly #ahead: UIEvent[] = []
  #ended = false

  constructor(logged: Iterable<UIEvent>) {
    this.#logged = logged[Symbol.iterator]()
  }

  /** What the log does not have of this event: all of it, the rest of a piece of text, or nothing. */
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

  /** Looks past what others said, but never past a word of the agent. */
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
    // The log ends here: all that follows is new.
    if (firm === undefined) return event
    if (gap === undefined) return isAside(event) ? undefined : event
    if (isDelta(event) || isAside(event)) return undefined
    // No more can be lost in a gap than there were lines in it.
    if (gap.missing <= 0) return event
    gap.missing -= 1
    return undefined
  }

  /** The next word of the agent in the log, and the damage before it. */
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
      // A copy: what is lost in a gap is counted in it.
      else this.#ahead.push({ ...value })
    }
    return this.#ahead[at]
  }
}

/** A piece fits a piece of the same text that begins like it: either may be the longer one. */
function fits(logged: UIEvent, event: UIEvent): boolean {
  if (!isDelta(event) || !isDelta(logged)) return isSameEvent(logged, event)
  if (!continuesDelta(event, logged)) return false
  const [a, b] = [deltaText(logged), deltaText(event)]
  return a.length > b.length ? a.startsWith(b) : b.startsWith(a)
}

/**
 * Whether an event of the log is this one. What a harness says of itself can come out a little different when it reads a
 * turn again: how long it took, how a process that is gone ended.
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

/** The host wrote the list price when it recorded the event. */
function unpriced(event: UIEvent): UIEvent {
  return { ...event, estimateUsd: undefined } as UIEvent
}

/** The version that began the turn may have known no facts, or other ones. */
function factless(event: UIEvent): unknown {
  return { ...event, ...{ facts: undefined, edits: undefined } }
}

/** What may stand in a log between two events of an agent, said by the host or the log, or by nobody a second time. */
export function isAside({ type }: UIEvent): boolean {
  return type === 'status' || type === 'budget' || type === 'permission:resolved' || type === 'log:gap'
}

/** The log keeps JSON, which knows no `undefined`. */
function asStored(event: unknown): unknown {
  return JSON.parse(JSON.stringify(event))
}
