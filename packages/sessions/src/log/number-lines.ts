import { findAnchors } from './find-anchors.ts'

export interface NumberLinesOptions {
  /** The number of the sound line before these. */
  lastSeq: number
  maxSeq: number
  /** Whether a line that is no envelope had a number of its own. */
  countUnreadable: boolean
}

/**
 * Gives each line of a damaged log the number it is to be read under, given the number it states (0 when it is no
 * envelope). Numbers increase; 0 means that the line gets none. Every readable line gets one as long as there are enough
 * between the anchors around it: its own if it fits there, else the next, because what it says may still be sound.
 * Unreadable lines take what is left over.
 */
export function numberLines(stated: readonly number[], options: NumberLinesOptions): number[] {
  const { lastSeq, maxSeq, countUnreadable } = options
  const seqs = stated.map((seq, i) =>
    seq > lastSeq && seq <= Math.min(maxSeq, lastSeq + i + MAX_JUMP) ? seq : 0,
  )
  const anchors = findAnchors(seqs, lastSeq)
  const numbers: number[] = []
  let last = lastSeq
  for (let first = 0; first < stated.length; ) {
    const anchor = anchors.indexOf(1, first)
    const end = anchor === -1 ? stated.length : anchor
    const between = { after: last, maxSeq: (seqs[end] ?? maxSeq + 1) - 1, countUnreadable }
    for (const number of numberBetween(stated.slice(first, end), between)) {
      numbers.push(number)
      last = Math.max(last, number)
    }
    if (end < stated.length) {
      last = seqs[end] ?? 0
      numbers.push(last)
    }
    first = end + 1
  }
  return numbers
}

/** A larger step between two lines is a broken number, not a gap. */
export const MAX_JUMP = 1_000_000

interface Between {
  after: number
  maxSeq: number
  countUnreadable: boolean
}

function numberBetween(stated: number[], { after, maxSeq, countUnreadable }: Between): number[] {
  let last = after
  let readable = stated.filter(seq => seq > 0).length
  const next = nextReadable(stated)
  return stated.map((seq, i) => {
    if (seq > 0) readable -= 1
    // The highest number that leaves one for every readable line still to come.
    const highest = Math.min(maxSeq, last + MAX_JUMP) - readable
    if (last + 1 > highest) return 0
    if (seq === 0 && (!countUnreadable || next[i] === last + 1)) return 0
    last = seq > last && seq <= highest ? seq : last + 1
    return last
  })
}

/** For each line, what the nearest readable one behind it states. */
function nextReadable(stated: number[]): number[] {
  let next = 0
  return stated
    .toReversed()
    .map(seq => {
      const found = next
      if (seq > 0) next = seq
      return found
    })
    .reverse()
}
