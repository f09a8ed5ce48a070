import type { Envelope } from '@chirality/core'

/** Every word must be in the event's name or in its JSON; a word that begins with `-` must not. */
export function filterEnvelopes(envelopes: readonly Envelope[], text: string): readonly Envelope[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return envelopes
  return envelopes.filter(({ event }) => {
    const hay = JSON.stringify(event).toLowerCase()
    return words.every(word =>
      word.length > 1 && word.startsWith('-') ? !hay.includes(word.slice(1)) : hay.includes(word),
    )
  })
}

const MAX_SUMMARY_CHARS = 200

/** The fields that tell one event from the next, on one line. */
export function summaryOf({ event }: Envelope): string {
  const { type: _type, sessionId: _sessionId, ...rest } = event
  return JSON.stringify(rest).slice(0, MAX_SUMMARY_CHARS)
}

/** What the agent printed, where the event still has it. */
export function nativeOf({ event }: Envelope): unknown {
  return 'raw' in event ? event.raw : undefined
}

/** A pause of an hour is no part of a replay. */
export const MAX_GAP_MS = 1500

/** How many events are due after so much more time of a replay. */
export function advance(
  envelopes: readonly Envelope[],
  from: { index: number; leftMs: number },
  elapsedMs: number,
): { index: number; leftMs: number } {
  let { index } = from
  let left = from.leftMs + elapsedMs
  while (index < envelopes.length) {
    const gap = gapBefore(envelopes, index)
    if (gap > left) break
    left -= gap
    index += 1
  }
  return { index, leftMs: index >= envelopes.length ? 0 : left }
}

function gapBefore(envelopes: readonly Envelope[], index: number): number {
  const [before, after] = [envelopes[index - 1], envelopes[index]]
  if (!before || !after) return 0
  return Math.min(MAX_GAP_MS, Math.max(0, Date.parse(after.at) - Date.parse(before.at)))
}
