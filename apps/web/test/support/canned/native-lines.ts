import type { CallOutputs } from '@chirality/client'
import type { NativeLine, NativePage } from '../../../src/state/server/answers.ts'

/** One piece of one line. */
type NativeText = CallOutputs['sessions']['nativeLine']

const NATIVE_PAGE = 200
const NATIVE_TEXT = 64 * 1024
const NATIVE_PIECE = 256 * 1024

/** One page of what the agent printed, as the server cuts it. */
export function nativePage(lines: NativeLine[], place: { before?: string; after?: string }): NativePage {
  const at = (id: string) =>
    Math.max(
      0,
      lines.findIndex(line => line.id === id),
    )
  const end = place.before === undefined ? lines.length : at(place.before)
  // A place after the last line is its own end; the page knows it by that name.
  const start = place.after === undefined ? Math.max(0, end - NATIVE_PAGE) : Number(place.after.slice(4))
  const before = start > 0 ? (lines[start]?.id ?? null) : null
  const after = lines.length === 0 ? null : `end:${lines[end - 1]?.torn ? end - 1 : end}`
  return { lines: lines.slice(start, end).map(shortened), before, after, more: false, problems: [] }
}

function shortened(line: NativeLine): NativeLine {
  if (line.text.length <= NATIVE_TEXT) return line
  return { ...line, text: line.text.slice(0, NATIVE_TEXT), cut: true }
}

export function nativePiece(line: string, id: string, from: number): NativeText {
  const end = Math.min(line.length, from + NATIVE_PIECE)
  const next = end < line.length ? end : null
  return { ...{ id, from, next }, bytes: line.length, text: line.slice(from, end), torn: false }
}
