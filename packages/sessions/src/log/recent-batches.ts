import type { Envelope } from '@chirality/core'

/** The last batches that were published, for readers that keep up. Whoever falls behind reads the file. */
export class RecentBatches {
  #batches: { envelopes: Envelope[]; bytes: number }[] = []
  #bytes = 0

  push(envelopes: Envelope[], bytes: number): void {
    this.#batches.push({ envelopes, bytes })
    this.#bytes += bytes
    while (this.#bytes > MAX_RECENT_BYTES && this.#batches.length > 1) {
      this.#bytes -= this.#batches.shift()?.bytes ?? 0
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
    this.#bytes = 0
  }
}

const MAX_RECENT_BYTES = 1024 * 1024
