/** The beginning and the end of a text of any length, in bounded memory. */
export class HeadTail {
  readonly #headBytes: number
  readonly #tailBytes: number
  readonly #head: Buffer[] = []
  #headSize = 0
  #tail: Buffer[] = []
  #tailSize = 0
  #total = 0

  constructor(headBytes: number, tailBytes: number) {
    this.#headBytes = headBytes
    this.#tailBytes = tailBytes
  }

  get bytes(): number {
    return this.#total
  }

  get isCut(): boolean {
    return this.#total > this.#headBytes + this.#tailBytes
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length
    const room = this.#headBytes - this.#headSize
    const first = chunk.subarray(0, Math.max(0, room))
    if (first.length > 0) {
      // A copy: a piece of a bigger buffer would keep all of it in memory.
      this.#head.push(Buffer.from(first))
      this.#headSize += first.length
    }
    const rest = chunk.subarray(first.length)
    if (rest.length === 0) return
    this.#tail.push(Buffer.from(rest.subarray(-this.#tailBytes)))
    this.#tailSize += Math.min(rest.length, this.#tailBytes)
    if (this.#tailSize > 2 * this.#tailBytes) this.#trim()
  }

  text(): string {
    this.#trim()
    const head = Buffer.concat(this.#head)
    const tail = Buffer.concat(this.#tail)
    const left = this.#total - head.length - tail.length
    if (left === 0) return Buffer.concat([head, tail]).toString()
    return `${head.toString()}\n[${left} bytes left out]\n${tail.toString()}`
  }

  #trim(): void {
    if (this.#tailSize <= this.#tailBytes) return
    const all = Buffer.concat(this.#tail)
    this.#tail = [Buffer.from(all.subarray(-this.#tailBytes))]
    this.#tailSize = this.#tailBytes
  }
}
