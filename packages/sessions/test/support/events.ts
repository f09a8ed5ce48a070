import type { Envelope, StatusEvent, UIEvent } from '@chirality/core'

export const SESSION = 'session-1'
export const TURN = { turnId: 'turn-1' }

/** An event that is never joined with another, told apart by its number. */
export function numbered(n: number, text = ''): StatusEvent {
  return { type: 'status', sessionId: SESSION, status: 'notice', level: 'info', message: text, data: { n } }
}

/** The numbers of those events, in order; other events are left out. */
export function numbersIn(envelopes: readonly Envelope[]): number[] {
  return envelopes.flatMap(({ event }) =>
    event.type === 'status' && typeof event.data?.n === 'number' ? [event.data.n] : [],
  )
}

export function delta(text: string, messageId = 'm1'): UIEvent {
  return { type: 'chat:delta', sessionId: SESSION, text, messageId }
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

/** A small random generator that gives the same numbers for the same seed on every machine. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}
