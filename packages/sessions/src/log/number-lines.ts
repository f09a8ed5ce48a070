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
  const start: Anchor = { at: -1, seq: lastSeq }
  const end: Anchor = { at: stated.length, seq: maxSeq + 1 }
  const anchors = Array.from(findAnchors(seqs, lastSeq), (is, at) => (is ? [{ at, seq: seqs[at] ?? 0 }] : []))
  const numbers: number[] = []
  let left = start
  for (const right of withRoom(stated, [start, ...anchors.flat(), end]).slice(1)) {
    const between = { after: left.seq, maxSeq: right.seq - 1, countUnreadable }
    for (const number of numberBetween(stated.slice(left.at + 1, right.at), between)) numbers.push(number)
    if (right !== end) numbers.push(right.seq)
    left = right
  }
  return numbers
}

/** A line that is believed about its number; or the edge of the lines. */
interface Anchor {
  at: number
  seq: number
}

/**
 * Where more lines can be read than there are numbers between two anchors, one of the two is wrong about its own, though
 * its neighbours agree: it is dropped if there is room beyond it.
 */
function withRoom(stated: readonly number[], anchors: Anchor[]): Anchor[] {
  const readableBefore = [0]
  for (const seq of stated) readableBefore.push((readableBefore.at(-1) ?? 0) + (seq > 0 ? 1 : 0))
  const fits = (left: Anchor, right: Anchor) => {
    const readable = (readableBefore[right.at] ?? 0) - (readableBefore[left.at + 1] ?? 0)
    return readable < right.seq - left.seq
  }
  const kept: Anchor[] = []
  for (const [i, anchor] of anchors.entries()) {
    const left = kept.at(-1)
    const beforeLeft = kept.at(-2)
    const next = anchors[i + 1]
    if (left !== undefined && !fits(left, anchor)) {
      if (beforeLeft !== undefined && fits(beforeLeft, anchor)) kept.pop()
      else if (next !== undefined && fits(left, next)) continue
    }
    kept.push(anchor)
  }
  return kept
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
