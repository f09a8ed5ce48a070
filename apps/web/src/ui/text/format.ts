const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Two digits after the point, more for what would else be nothing. */
export function formatUsd(usd: number): string {
  if (usd === 0) return '$0.00'
  if (usd < 0.01) return `$${usd.toFixed(4)}`
  return `$${usd.toFixed(2)}`
}

/** `≈` where a part of it is by list price. */
export function formatCost(usd: number, isEstimate: boolean): string {
  return `${isEstimate && usd > 0 ? '≈ ' : ''}${formatUsd(usd)}`
}

export function formatCount(value: number): string {
  if (value < 1000) return String(value)
  if (value < 1_000_000) return `${trim(value / 1000)}k`
  return `${trim(value / 1_000_000)}M`
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
}

/** `now`, `12 min ago`, `3 h ago`, `2 d ago`. */
export function formatAge(at: string, now: number): string {
  const ms = now - Date.parse(at)
  if (!(ms >= MINUTE_MS)) return 'now'
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`
  return `${Math.floor(ms / DAY_MS)} d ago`
}

/** `waiting`, `waiting 12 min`: how long somebody is asked already. */
export function formatWait(since: string, now: number): string {
  const age = formatAge(since, now)
  return age === 'now' ? 'waiting' : `waiting ${age.replace(/ ago$/, '')}`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** `512 B`, `64 KB`, `1.2 MB`, `3.4 GB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 2 ** 20) return `${Math.round(bytes / 1024)} KB`
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MB` : `${(bytes / 2 ** 30).toFixed(1)} GB`
}
