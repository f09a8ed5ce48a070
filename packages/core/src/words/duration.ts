const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

/** `38 ms`, `4.2 s`, `1 min 12 s`, `2 h 5 min`. Rounded before it is divided: no `60 s`, no `60 min`. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < SECOND_MS) return `${Math.round(ms)} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 100) return `${(tenths / 10).toFixed(1)} s`
  const seconds = Math.round(ms / SECOND_MS)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(ms / MINUTE_MS)
  if (seconds < 60 * 60) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return `${large} ${largeUnit}${small > 0 ? ` ${small} ${smallUnit}` : ''}`
}
