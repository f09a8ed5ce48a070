import type { UIEvent } from './ui-event.ts'

/** One line of a session's log: an event, where it stands, when it came and in which turn. */
export interface Envelope {
  /** Dense and increasing from 1 within a session. The only order there is; clocks jump. */
  seq: number
  /** ISO 8601 with milliseconds. */
  at: string
  sessionId: string
  /** null for what happens between turns. */
  turnId: string | null
  event: UIEvent
}
