export interface NumberLinesOptions {
  /** The number of the intact line before these. */
  lastSeq: number
  maxSeq: number
  /** Whether a line that is no envelope had a number of its own. */
  countUnreadable: boolean
}

/**
 * Assigns a number to each line of a damaged log, given the number it states (0 if it is no envelope). Numbers
 * increase; 0 means that the line gets none. Every readable line gets one as long as there are enough between the
 * anchors around it: its own if it fits, else the next, because its event may still be intact. Unreadable lines get the
 * remaining numbers.
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

/** A line whose number is trusted, or the edge of the lines. */
interface Anchor {
  at: number
  seq: number
}

/**
 * If there are more readable lines than numbers between two anchors, one of the two states a wrong number although its
 * neighbours agree: it is dropped if there is room beyond it.
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

/** A larger step between two lines is a damaged number, not a gap. */
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
    // The highest number that leaves one for every following readable line.
    const highest = Math.min(maxSeq, last + MAX_JUMP) - readable
    if (last + 1 > highest) return 0
    if (seq === 0 && (!countUnreadable || next[i] === last + 1)) return 0
    last = seq > last && seq <= highest ? seq : last + 1
    return last
  })
}

/** For each line, the number that the nearest readable line behind it states. */
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

/**
 * Selects the lines of a damaged log whose number can be trusted, given the number that each states (0 for none).
 * Intact lines have increasing numbers, and a flipped digit usually breaks the order; so the increasing sequence with
 * the highest weight is used. A line's weight is the number of neighbours with the same distance between number and
 * position; with fewer than two it is no anchor. `lastSeq` is the number of the intact line before them all.
 */
function findAnchors(seqs: readonly number[], lastSeq: number): Uint8Array {
  const order = [...new Set(seqs)].filter(seq => seq > 0).sort((a, b) => a - b)
  const rankOf = new Map(order.map((seq, i) => [seq, i + 1]))
  const best = new PrefixMaximum(order.length)
  const previous = new Int32Array(seqs.length).fill(NONE)
  const weights = new Uint8Array(seqs.length)
  for (let i = 0; i < seqs.length; i += 1) {
    const rank = rankOf.get(seqs[i] ?? 0)
    if (rank === undefined) continue
    const before = best.upTo(rank - 1)
    const weight = weightAt(i, seqs, lastSeq)
    weights[i] = weight
    previous[i] = before.line
    best.offer(rank, { weight: before.weight + weight, rank, line: i })
  }
  const anchors = new Uint8Array(seqs.length)
  for (let i = best.upTo(order.length).line; i !== NONE; i = previous[i] ?? NONE) {
    if ((weights[i] ?? 0) >= ANCHOR_WEIGHT) anchors[i] = 1
  }
  return anchors
}

/** The line itself and two neighbours. */
const ANCHOR_WEIGHT = 3
const NONE = -1
const NEIGHBOURS = 8

function weightAt(at: number, seqs: readonly number[], lastSeq: number): number {
  const seqOf = (i: number) => (i < 0 ? Math.max(0, lastSeq + 1 + i) : (seqs[i] ?? 0))
  return 1 + agreeing(at, -1, seqOf) + agreeing(at, 1, seqOf)
}

/** Skips one line that differs, which may be the damaged one, but not a second: there lines were lost. */
function agreeing(at: number, step: -1 | 1, seqOf: (i: number) => number): number {
  const distance = seqOf(at) - at
  let agree = 0
  for (let i = at + step, differ = 0; Math.abs(i - at) <= NEIGHBOURS && differ < 2; i += step) {
    if (seqOf(i) === 0) continue
    if (seqOf(i) - i === distance) agree += 1
    else differ += 1
  }
  return agree
}

interface Chain {
  weight: number
  /** The number of its last line. */
  rank: number
  line: number
}

const EMPTY: Chain = { weight: 0, rank: 0, line: NONE }

/** Of two equal chains the one with the lower number: a damaged number tends to be far too high. */
function isBetter(chain: Chain, than: Chain): boolean {
  return chain.weight > than.weight || (chain.weight === than.weight && chain.rank < than.rank)
}

/** A Fenwick tree over ranks: the best chain that ends at or below one. */
class PrefixMaximum {
  readonly #chains: Chain[]

  constructor(size: number) {
    this.#chains = Array.from({ length: size + 1 }, () => EMPTY)
  }

  upTo(rank: number): Chain {
    let best = EMPTY
    for (let i = rank; i > 0; i -= i & -i) {
      const chain = this.#chains[i]
      if (chain !== undefined && isBetter(chain, best)) best = chain
    }
    return best
  }

  offer(rank: number, chain: Chain): void {
    for (let i = rank; i < this.#chains.length; i += i & -i) {
      const current = this.#chains[i]
      if (current !== undefined && isBetter(chain, current)) this.#chains[i] = chain
    }
  }
}
