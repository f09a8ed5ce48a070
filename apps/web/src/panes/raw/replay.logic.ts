import type { Envelope } from '@chirality/core'

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
