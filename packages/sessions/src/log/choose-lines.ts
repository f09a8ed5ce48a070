/**
 * Which lines of a damaged log to believe, given the `seq` each one states (0 for none). Good lines stand in increasing
 * order, and what a flipped digit states usually breaks it; so the heaviest increasing sequence is kept. A line
 * weighs more when its neighbours agree with it about the distance between `seq` and place in the file: without that, one
 * line that claims to be far ahead could outvote the good ones behind it.
 */
export function chooseLines(seqs: readonly number[]): Uint8Array {
  const order = [...new Set(seqs)].filter(seq => seq > 0).sort((a, b) => a - b)
  const rankOf = new Map(order.map((seq, i) => [seq, i + 1]))
  const best = new PrefixMaximum(order.length)
  const previous = new Int32Array(seqs.length).fill(NONE)
  for (let i = 0; i < seqs.length; i += 1) {
    const rank = rankOf.get(seqs[i] ?? 0)
    if (rank === undefined) continue
    const before = best.upTo(rank - 1)
    previous[i] = before.line
    best.offer(rank, { weight: before.weight + weightAt(seqs, i), line: i })
  }
  const keep = new Uint8Array(seqs.length)
  for (let i = best.upTo(order.length).line; i !== NONE; i = previous[i] ?? NONE) keep[i] = 1
  return keep
}

const NONE = -1
const NEIGHBOURS = 8

function weightAt(seqs: readonly number[], at: number): number {
  const distance = (seqs[at] ?? 0) - at
  let weight = 1
  for (let i = Math.max(0, at - NEIGHBOURS); i <= at + NEIGHBOURS && i < seqs.length; i += 1) {
    if (i !== at && seqs[i] !== 0 && (seqs[i] ?? 0) - i === distance) weight += 1
  }
  return weight
}

interface Chain {
  weight: number
  line: number
}

/** A Fenwick tree over ranks: the heaviest chain that ends at or below one. */
class PrefixMaximum {
  readonly #chains: Chain[]

  constructor(size: number) {
    this.#chains = Array.from({ length: size + 1 }, () => ({ weight: 0, line: NONE }))
  }

  upTo(rank: number): Chain {
    let best: Chain = { weight: 0, line: NONE }
    for (let i = rank; i > 0; i -= i & -i) {
      const chain = this.#chains[i]
      if (chain !== undefined && chain.weight > best.weight) best = chain
    }
    return best
  }

  offer(rank: number, chain: Chain): void {
    for (let i = rank; i < this.#chains.length; i += i & -i) {
      const current = this.#chains[i]
      if (current !== undefined && chain.weight > current.weight) this.#chains[i] = chain
    }
  }
}
