import type { Envelope } from '@chirality/core'
import { type EventText, textOfLines } from './event-text.ts'

interface RecentBatch {
  envelopes: Envelope[]
  from: number
  to: number
  lines: string
  /** Made once for all who read it. */
  text?: EventText
}

/** The last batches that were published, for readers that keep up. Whoever falls behind reads the file. */
export class RecentBatches {
  #batches: RecentBatch[] = []
  #chars = 0

  push(envelopes: Envelope[], lines: string): void {
    const from = envelopes[0]?.seq ?? 0
    this.#batches.push({ envelopes, from, to: from + envelopes.length - 1, lines })
    this.#chars += lines.length
    while (this.#chars > MAX_RECENT_CHARS && this.#batches.length > 1) {
      this.#chars -= this.#batches.shift()?.lines.length ?? 0
    }
  }

  /** What comes after `seq`, or undefined when it is not held any more. */
  after(seq: number): Envelope[] | undefined {
    const batch = this.#with(seq + 1)
    if (batch === undefined) return undefined
    return batch.from === seq + 1 ? batch.envelopes : batch.envelopes.slice(seq + 1 - batch.from)
  }

  /** The same as text; undefined also for who comes in the middle of a batch. */
  textAfter(seq: number): EventText | undefined {
    const batch = this.#with(seq + 1)
    if (batch?.from !== seq + 1) return undefined
    batch.text ??= textOfLines(batch.from, batch.to, batch.lines)
    return batch.text
  }

  clear(): void {
    this.#batches = []
    this.#chars = 0
  }

  #with(seq: number): RecentBatch | undefined {
    const batch = this.#batches.findLast(({ from }) => from <= seq)
    return batch !== undefined && seq <= batch.to ? batch : undefined
  }
}

const MAX_RECENT_CHARS = 1024 * 1024
