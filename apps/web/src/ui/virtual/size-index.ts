/**
 * Heights of rows and where each begins. A change of one height costs the logarithm of the number of rows, so a list of
 * 100,000 rows scrolls like one of a hundred.
 */
export class SizeIndex {
  #count = 0
  #sizes = new Float64Array(64)
  /** A Fenwick tree over the sizes, from 1. */
  #tree = new Float64Array(65)

  get count(): number {
    return this.#count
  }

  get total(): number {
    return this.offsetOf(this.#count)
  }

  sizeOf(index: number): number {
    return index < this.#count ? (this.#sizes[index] ?? 0) : 0
  }

  /** Keeps the sizes of rows that stay; estimates those of new ones. */
  resize(count: number, estimate: (index: number) => number): void {
    if (count > this.#sizes.length) this.#grow(count)
    const kept = Math.min(count, this.#count)
    for (let i = kept; i < count; i++) this.#sizes[i] = estimate(i)
    this.#count = count
    if (count !== kept || kept !== this.#tree.length) this.#rebuild(kept)
  }

  /** So many rows come before all others; fewer than none are taken away there. */
  shift(added: number, estimate: (index: number) => number): void {
    const known = this.#sizes.subarray(Math.max(0, -added), this.#count)
    const sizes = new Float64Array(Math.max(this.#sizes.length, known.length + Math.max(0, added)))
    for (let i = 0; i < added; i++) sizes[i] = estimate(i)
    sizes.set(known, Math.max(0, added))
    this.#sizes = sizes
    this.#tree = new Float64Array(sizes.length + 1)
    this.#count = known.length + Math.max(0, added)
    this.#rebuild(0)
  }

  set(index: number, size: number): void {
    if (index >= this.#count) return
    const change = size - this.sizeOf(index)
    if (change === 0) return
    this.#sizes[index] = size
    for (let i = index + 1; i <= this.#count; i += i & -i) this.#tree[i] = (this.#tree[i] ?? 0) + change
  }

  /** Where a row begins. */
  offsetOf(index: number): number {
    let sum = 0
    for (let i = Math.min(index, this.#count); i > 0; i -= i & -i) sum += this.#tree[i] ?? 0
    return sum
  }

  /** The row at a place, the last one for what lies beyond. */
  indexAt(offset: number): number {
    let index = 0
    let rest = offset
    for (let step = highestPower(this.#count); step > 0; step >>= 1) {
      const next = index + step
      const sum = this.#tree[next] ?? 0
      if (next <= this.#count && sum <= rest) {
        index = next
        rest -= sum
      }
    }
    return Math.max(0, Math.min(index, this.#count - 1))
  }

  #grow(count: number): void {
    const sizes = new Float64Array(Math.max(count, this.#sizes.length * 2))
    sizes.set(this.#sizes)
    this.#sizes = sizes
    const tree = new Float64Array(sizes.length + 1)
    tree.set(this.#tree)
    this.#tree = tree
  }

  /** From the first row that changed: entries before it hold only sums of rows before it. */
  #rebuild(from: number): void {
    for (let i = from + 1; i <= this.#count; i++) {
      let sum = this.#sizes[i - 1] ?? 0
      for (let child = 1; child < (i & -i); child <<= 1) sum += this.#tree[i - child] ?? 0
      this.#tree[i] = sum
    }
  }
}

function highestPower(count: number): number {
  return count === 0 ? 0 : 2 ** Math.floor(Math.log2(count))
}
