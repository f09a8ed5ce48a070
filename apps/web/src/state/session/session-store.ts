import { type Envelope, initialSessionState, reduceSession, type SessionState } from '@chirality/core'
import { Listeners } from '../../ui/listeners.ts'
import { foldExtras, NO_EXTRAS, type SessionExtras } from './session-extras.ts'

export interface SessionSnapshot {
  readonly state: SessionState
  readonly extras: SessionExtras
  /** False until the first batch came, so that an empty session and one that still loads look different. */
  readonly loaded: boolean
  /** False while only the end of a long log is shown. */
  readonly whole: boolean
}

/** Requests of a pane that shows the end of a long log: the page before it, or all of it. */
export type Wanted = 'page' | 'whole'

/** A frame takes no more events than this: a log that comes faster than it can be folded must not hold up the page. */
const MAX_FOLDED = 4096

/**
 * One session, outside React. Envelopes are collected and folded once a frame: two hundred deltas a second are sixty
 * renders, and each of them touches only the rows that changed.
 */
export class SessionStore {
  readonly sessionId: string
  /** Snapshot in view: the end of a long log, until the whole of it has caught up where it was asked for. */
  #shown: SessionSnapshot
  #snapshot: SessionSnapshot
  /** The events that are known while only the end of the log is: a page before them is folded in with them. */
  #end: Envelope[] | null = null
  #waiting: Envelope[] = []
  #scheduled = false
  readonly #schedule: (run: () => void) => void
  readonly #listeners = new Listeners()
  /** Set by whoever can load it. */
  onWanted: (wanted: Wanted) => void = () => {}

  constructor(sessionId: string, schedule: (run: () => void) => void = onNextFrame) {
    this.sessionId = sessionId
    this.#schedule = schedule
    this.#snapshot = this.#empty()
    this.#shown = this.#snapshot
  }

  readonly get = (): SessionSnapshot => this.#shown

  readonly subscribe = this.#listeners.subscribe

  /** The cursor to go on from, with what is not folded in yet. */
  get lastSeq(): number {
    return this.#waiting.at(-1)?.seq ?? this.#snapshot.state.seq
  }

  push(envelopes: readonly Envelope[]): void {
    for (const envelope of envelopes) this.#waiting.push(envelope)
    this.#wake()
  }

  /** The first event that is shown of a log whose beginning is not; 1 when all of it is. */
  get firstSeq(): number {
    return this.#end?.[0]?.seq ?? 1
  }

  /** How many events are held for the sake of pages before them. */
  get heldEvents(): number {
    return this.#end?.length ?? 0
  }

  /** The end of a long log. Pages before it are asked for as somebody scrolls there. */
  startAtEnd(envelopes: readonly Envelope[]): void {
    if (this.lastSeq > 0 || envelopes.length === 0) return
    this.#foldEnd([...envelopes])
  }

  /**
   * A page of what comes before the end. None means that there is nothing before it. All that is known is folded again with
   * it; what takes longer than a part of a frame goes on after a pause, so that scrolling and typing do not wait.
   */
  async prepend(page: readonly Envelope[]): Promise<void> {
    if (this.#end === null) return
    this.flush()
    const before = page.filter(({ seq }) => seq < this.firstSeq)
    let state = initialSessionState(this.sessionId)
    let extras = NO_EXTRAS
    let started = performance.now()
    for (let folded = 0; folded < before.length + this.#end.length; folded += FOLDED_AT_ONCE) {
      if (performance.now() - started > MAX_FOLDING_MS) {
        await pause()
        // All of the log is being loaded instead, or somebody else came first.
        if (this.#end === null || (before[0]?.seq ?? 0) >= this.firstSeq) return
        started = performance.now()
      }
      // With what happened meanwhile: it is at the end of what is known.
      const batch = piece(before, this.#end, folded, FOLDED_AT_ONCE)
      state = reduceSession(state, batch)
      extras = foldExtras(extras, batch)
    }
    const whole = before.length === 0 || before[0]?.seq === 1
    this.#end = whole ? null : [...before, ...this.#end]
    this.#snapshot = { state, extras, loaded: true, whole }
    this.#shown = this.#snapshot
    this.#tell()
  }

  /** All of the log is to come, from its beginning. What is shown stays until it has caught up. */
  restart(): void {
    this.#end = null
    this.#waiting = []
    this.#snapshot = this.#empty()
  }

  /** Asks for the page before what is shown, or for all of the log, where it is not there. */
  want(wanted: Wanted): void {
    if (!this.#shown.whole) this.onWanted(wanted)
  }

  /** There is nothing to wait for: the log is empty, or all of it was seen. */
  markLoaded(): void {
    if (!this.#snapshot.loaded) this.#wake()
  }

  /** Folds in what waits, at once; or no more than so much of it, and the rest in the next frames. */
  flush(limit = Number.POSITIVE_INFINITY): void {
    this.#scheduled = false
    const batch = this.#waiting.slice(0, limit).filter(({ seq }) => seq > this.#snapshot.state.seq)
    this.#waiting = this.#waiting.slice(limit)
    const state = reduceSession(this.#snapshot.state, batch)
    const whole = this.#end === null
    if (this.#end) this.#end = [...this.#end, ...batch]
    this.#snapshot = { state, extras: foldExtras(this.#snapshot.extras, batch), loaded: true, whole }
    if (!this.#shown.loaded || state.seq >= this.#shown.state.seq) {
      this.#shown = this.#snapshot
      this.#tell()
    }
    if (this.#waiting.length > 0) this.#wake()
  }

  #foldEnd(envelopes: Envelope[]): void {
    const whole = envelopes[0]?.seq === 1
    this.#end = whole ? null : envelopes
    const state = reduceSession(initialSessionState(this.sessionId), envelopes)
    this.#snapshot = { state, extras: foldExtras(NO_EXTRAS, envelopes), loaded: true, whole }
    this.#shown = this.#snapshot
    this.#tell()
  }

  #empty(): SessionSnapshot {
    return { state: initialSessionState(this.sessionId), extras: NO_EXTRAS, loaded: false, whole: true }
  }

  #tell(): void {
    this.#listeners.tell()
  }

  #wake(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#schedule(() => this.#scheduled && this.flush(MAX_FOLDED))
  }
}

/** A part of a frame: the rest of it is for drawing. */
const MAX_FOLDING_MS = 5
const FOLDED_AT_ONCE = 512

function piece(
  before: readonly Envelope[],
  end: readonly Envelope[],
  from: number,
  count: number,
): Envelope[] {
  const past = Math.max(0, from - before.length)
  const first = before.slice(from, from + count)
  return [...first, ...end.slice(past, past + count - first.length)]
}

/** Until what else the page has to do was done. */
function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 0))
}

/** How often a page that nobody sees is brought up to date: the browser gives it no frames. */
const HIDDEN_PAGE_MS = 250

/** Runs once before the next paint, and also on a page that is not painted. */
export function onNextFrame(run: () => void): void {
  if (typeof requestAnimationFrame === 'undefined' || document.hidden) {
    setTimeout(run, HIDDEN_PAGE_MS)
    return
  }
  let done = false
  const once = () => {
    if (done) return
    done = true
    clearTimeout(timer)
    run()
  }
  // A page that is hidden between now and the frame would otherwise wait until it is seen again.
  const timer = setTimeout(once, HIDDEN_PAGE_MS)
  requestAnimationFrame(once)
}
