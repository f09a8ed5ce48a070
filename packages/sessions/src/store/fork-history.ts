import type { Envelope, StatusEvent, UIEvent } from '@chirality/core'
import type { SessionLogReader } from '../log/read-log.ts'
import { notice } from '../turns/turn-events.ts'
import { type ForkOrigin, parseFork } from './stored-session.ts'

/** Whether the conversation goes on after this event. Exits of processes and notices are no part of it. */
export function goesOnAfter(log: SessionLogReader, seq: number): boolean {
  return someAfter(log, seq, ({ event }) => event.type === 'turn:start' || isSaid(event))
}

/** Whether the agent said or did anything after this event, so that it has what it was sent. */
export function isAnsweredAfter(log: SessionLogReader, seq: number): boolean {
  return someAfter(log, seq, ({ event }) => isSaid(event))
}

/** Says in the log of a fork that its agent gets a written account. A session that is rebuilt from its log knows it, too. */
export function accountNotice(sessionId: string, forkedFrom: ForkOrigin): StatusEvent {
  const message =
    'The agent’s own conversation cannot be cut here, so this fork begins a new one. Its first message carries a written account of what is shown above, long texts and results cut; nothing that came later.'
  return notice(sessionId, message, { forkedFrom: { ...forkedFrom, history: 'account' } })
}

/** What such a notice says. */
export function originIn(event: UIEvent): ForkOrigin | null {
  const isOurs = event.type === 'status' && event.data?.kind === 'chirality'
  return isOurs ? parseFork(event.data?.forkedFrom) : null
}

function someAfter(log: SessionLogReader, seq: number, fits: (envelope: Envelope) => boolean): boolean {
  for (let last = seq; last < log.lastSeq; ) {
    const batch = log.readAfter(last, BATCH_EVENTS)
    if (batch.some(fits)) return true
    last = batch.at(-1)?.seq ?? log.lastSeq
  }
  return false
}

const BATCH_EVENTS = 200

function isSaid({ type }: UIEvent): boolean {
  return type.startsWith('chat:') || type.startsWith('tool:')
}
