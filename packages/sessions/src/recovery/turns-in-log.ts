import type { Envelope, TurnEndReason, UIEvent } from '@chirality/core'
import type { SessionLog } from '../log/session-log.ts'

export interface LoggedTurn {
  turnId: string
  /** Undefined when it never ended. */
  ended: TurnEndReason | undefined
  startedAt: string
}

/** The last turn of a log. Reads backwards, and no further than to its beginning. */
export function lastTurnIn(log: SessionLog): LoggedTurn | undefined {
  let turn: LoggedTurn | undefined
  for (const { turnId, event, at } of backwards(log)) {
    if (turnId === null) continue
    // Its beginning is lost in a damaged part of the log.
    if (turn !== undefined && turnId !== turn.turnId) return turn
    turn ??= { turnId, ended: undefined, startedAt: at }
    turn.startedAt = at
    if (event.type === 'turn:end') turn.ended ??= event.reason
    if (event.type === 'turn:start') return turn
  }
  return turn
}

/** Whether a message that was queued then has had its turn, be it the last one or an earlier one. */
export function hasTurn(log: SessionLog, { id, queuedAt }: { id: string; queuedAt: string }): boolean {
  const queued = Date.parse(queuedAt)
  for (const { turnId, at } of backwards(log)) {
    if (turnId === id) return true
    if (Date.parse(at) < queued - CLOCK_SKEW_MS) return false
  }
  return false
}

/** Clocks are set back, and the turn of a message must be found all the same. */
const CLOCK_SKEW_MS = 24 * 60 * 60 * 1000

/** The events of a turn after a point, with the damage between them, in order. */
export function* eventsOfTurn(
  log: SessionLog,
  { turnId, afterSeq }: { turnId: string; afterSeq: number },
): Generator<UIEvent> {
  for (let seq = afterSeq; seq < log.lastSeq; ) {
    const page = log.readAfter(seq, PAGE_EVENTS)
    const last = page.at(-1)
    if (last === undefined) return
    for (const envelope of page) {
      if (envelope.turnId === turnId || envelope.event.type === 'log:gap') yield envelope.event
    }
    seq = last.seq
  }
}

function* backwards(log: SessionLog): Generator<Envelope> {
  for (let before = log.lastSeq + 1; before > 1; ) {
    const page = log.readBefore(before, PAGE_EVENTS)
    const first = page[0]
    if (first === undefined) return
    yield* page.reverse()
    before = first.seq
  }
}

const PAGE_EVENTS = 512
