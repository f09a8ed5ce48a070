/**
 * Which lines of a damaged log can be believed about their number, given what each states (0 for nothing). Sound lines
 * stand in increasing order, and what a flipped digit states usually breaks it; so the heaviest increasing sequence is
 * taken. A line weighs as much as the neighbours that agree with it about the distance between number and place, and
 * without two of them it is no anchor. `lastSeq` is the number of the sound line before them all.
 */
export function findAnchors(seqs: readonly number[], lastSeq: number): Uint8Array {
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

/** Itself and two neighbours. */
const ANCHOR_WEIGHT = 3
const NONE = -1
const NEIGHBOURS = 8

function weightAt(at: number, seqs: readonly number[], lastSeq: number): number {
  const seqOf = (i: number) => (i < 0 ? Math.max(0, lastSeq + 1 + i) : (seqs[i] ?? 0))
  return 1 + agreeing(at, -1, seqOf) + agreeing(at, 1, seqOf)
}

/** Looks past one line that differs, which may be the broken one, but not past a second: there lines were lost. */
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
  /** Of the last line in it. */
  rank: number
  line: number
}

const EMPTY: Chain = { weight: 0, rank: 0, line: NONE }

/** Of two equal ones the one that claims less: a broken number tends to be far ahead. */
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
