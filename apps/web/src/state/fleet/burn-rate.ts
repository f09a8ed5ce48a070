/** What was spent by a moment. */
export interface Spent {
  at: number
  usd: number
}

const WINDOW_MS = 5 * 60_000
const MINUTE_MS = 60_000

/** Keeps what the last minutes need, and one point before them. */
export function addSpent(samples: readonly Spent[], next: Spent): readonly Spent[] {
  const last = samples.at(-1)
  if (last && last.usd === next.usd) return samples
  const recent = samples.filter(({ at }) => next.at - at <= WINDOW_MS)
  const before = samples.length > recent.length ? samples[samples.length - recent.length - 1] : undefined
  return before && recent.length === 0 ? [before, next] : [...recent, next]
}

/** Dollars a minute over the last minutes; 0 when nothing was spent in them. */
export function burnPerMinute(samples: readonly Spent[], now: number): number {
  const recent = samples.filter(({ at }) => now - at <= WINDOW_MS)
  const [first] = recent
  const last = recent.at(-1)
  if (!first || !last || first === last) return 0
  return (last.usd - first.usd) / Math.max(1, (now - first.at) / MINUTE_MS)
}
