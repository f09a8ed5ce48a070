import type { Envelope } from '@chirality/core'

/** The last batches that were published, for readers that keep up. Whoever falls behind reads the file. */
export class RecentBatches {
  #batches: { envelopes: Envelope[]; chars: number }[] = []
  #chars = 0

  push(envelopes: Envelope[], chars: number): void {
    this.#batches.push({ envelopes, chars })
    this.#chars += chars
    while (this.#chars > MAX_RECENT_CHARS && this.#batches.length > 1) {
      this.#chars -= this.#batches.shift()?.chars ?? 0
    }
  }

  /** The batch that comes after `seq`, or undefined when it is not held any more. */
  after(seq: number): Envelope[] | undefined {
    for (let i = this.#batches.length - 1; i >= 0; i -= 1) {
      const envelopes = this.#batches[i]?.envelopes ?? []
      const first = envelopes[0]?.seq ?? 0
      if (first <= seq + 1) {
        const rest = first === seq + 1 ? envelopes : envelopes.slice(seq + 1 - first)
        return rest.length > 0 ? rest : undefined
      }
    }
    return undefined
  }

  clear(): void {
    this.#batches = []
    this.#chars = 0
  }
}

const MAX_RECENT_CHARS = 1024 * 1024
