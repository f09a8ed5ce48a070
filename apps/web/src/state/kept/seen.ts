import { Listeners } from '../../ui/listeners.ts'
import { BoundedMap } from './bounded-map.ts'

const MAX_SESSIONS = 500

const seen = new BoundedMap<number>('chirality-seen', MAX_SESSIONS)
const listeners = new Listeners()
let version = 0

/** Up to where each session was looked at, in this browser or, as far as the server told, in another. */
export function seenSeq(sessionId: string): number {
  return seen.get(sessionId) ?? 0
}

export function markSeen(sessionId: string, seq: number): void {
  if (seq <= seenSeq(sessionId)) return
  seen.set(sessionId, seq)
  version += 1
  listeners.tell()
}

/** Takes over what other browsers have read. */
export function takeReadMarks(marks: Readonly<Record<string, number>>): void {
  for (const [sessionId, seq] of Object.entries(marks)) markSeen(sessionId, seq)
}

export const subscribeSeen = listeners.subscribe

export function seenVersion(): number {
  return version
}
