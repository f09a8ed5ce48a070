import type { TurnEndReason, UIEvent } from '@chirality/core'
import { pagesBefore } from '../log/pages.ts'
import type { SessionLog } from '../log/session-log.ts'

export interface LoggedTurn {
  turnId: string
  /** Undefined if it never ended. */
  ended: TurnEndReason | undefined
  startedAt: string
}

/** The last turn of a log. Reads backwards, no further than to its beginning. */
export async function lastTurnIn(log: SessionLog): Promise<LoggedTurn | undefined> {
  let turn: LoggedTurn | undefined
  for await (const page of pagesBefore(log, log.lastSeq + 1)) {
    for (const { turnId, event, at } of page) {
      if (turnId === null) continue
      // Its beginning is lost in a damaged part of the log.
      if (turn !== undefined && turnId !== turn.turnId) return turn
      turn ??= { turnId, ended: undefined, startedAt: at }
      turn.startedAt = at
      if (event.type === 'turn:end') turn.ended ??= event.reason
      if (event.type === 'turn:start') return turn
    }
  }
  return turn
}

/** Whether a message that was queued at that time has had its turn, the last one or an earlier one. */
export async function hasTurn(
  log: SessionLog,
  { id, queuedAt }: { id: string; queuedAt: string },
): Promise<boolean> {
  const queued = Date.parse(queuedAt)
  for await (const page of pagesBefore(log, log.lastSeq + 1)) {
    for (const { turnId, at } of page) {
      if (turnId === id) return true
      if (Date.parse(at) < queued - CLOCK_SKEW_MS) return false
    }
  }
  return false
}

/** Clocks can be set back, and the turn of a message must still be found. */
const CLOCK_SKEW_MS = 24 * 60 * 60 * 1000

/** The events of a turn after a position, with the damage between them, in order. */
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

const PAGE_EVENTS = 512
