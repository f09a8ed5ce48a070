import type { Envelope } from '@chirality/core'
import { encodeLine } from './envelope-line.ts'
import { type EventText, textOfLines } from './event-text.ts'
import type { WrittenLines } from './file/batch.ts'

interface RecentBatch {
  envelopes: Envelope[]
  from: number
  to: number
  written: WrittenLines
  /** As written, and with all its texts. Both are built once for all readers. */
  text?: EventText
  whole?: EventText
}

/**
 * The last published batches, for readers that keep up. Slower readers read the file. All logs of the process share one
 * memory limit: the log that has been silent for longest loses its batches first.
 */
export class RecentBatches {
  /** The logs that hold batches; the one with the newest batch is last. */
  static readonly #holders = new Set<RecentBatches>()
  static #heldChars = 0
  #batches: RecentBatch[] = []
  #chars = 0

  push(envelopes: Envelope[], written: WrittenLines): void {
    const from = envelopes[0]?.seq ?? 0
    const to = from + envelopes.length - 1
    const batch = { envelopes, from, to, written }
    this.#batches.push(batch)
    this.#count(charsOf(batch))
    RecentBatches.#holders.delete(this)
    RecentBatches.#holders.add(this)
    while (this.#chars > MAX_CHARS_OF_LOG && this.#batches.length > 1) this.#forgetFirst()
    for (const holder of RecentBatches.#holders) {
      while (RecentBatches.#heldChars > MAX_CHARS && holder.#batches.length > (holder === this ? 1 : 0))
        holder.#forgetFirst()
      if (RecentBatches.#heldChars <= MAX_CHARS) break
    }
  }

  /** The characters held for all logs of the process. */
  static get heldChars(): number {
    return RecentBatches.#heldChars
  }

  /** The envelopes after `seq`, or undefined if they are no longer held. */
  after(seq: number): Envelope[] | undefined {
    const batch = this.#with(seq + 1)
    if (batch === undefined) return undefined
    return batch.from === seq + 1 ? batch.envelopes : batch.envelopes.slice(seq + 1 - batch.from)
  }

  /**
   * The same as text; undefined also for a position in the middle of a batch. A reader that has received everything
   * after `knownFrom` gets each text once.
   */
  textAfter(seq: number, knownFrom = Number.POSITIVE_INFINITY): EventText | undefined {
    const batch = this.#with(seq + 1)
    if (batch?.from !== seq + 1) return undefined
    const { from, to, envelopes, written } = batch
    if (written.refersTo === undefined || written.refersTo > knownFrom) {
      batch.text ??= textOfLines(from, to, written.lines)
      return batch.text
    }
    batch.whole ??= textOfLines(from, to, envelopes.map(encodeLine).join(''))
    return batch.whole
  }

  clear(): void {
    this.#batches = []
    this.#count(-this.#chars)
    RecentBatches.#holders.delete(this)
  }

  #forgetFirst(): void {
    const batch = this.#batches.shift()
    if (batch !== undefined) this.#count(-charsOf(batch))
    if (this.#batches.length === 0) RecentBatches.#holders.delete(this)
  }

  #count(chars: number): void {
    this.#chars += chars
    RecentBatches.#heldChars += chars
  }

  #with(seq: number): RecentBatch | undefined {
    const batch = this.#batches.findLast(({ from }) => from <= seq)
    return batch !== undefined && seq <= batch.to ? batch : undefined
  }
}

function charsOf({ written }: RecentBatch): number {
  return written.lines.length + written.omitted
}

/** Characters of the lines; with their envelopes and the sent text they take about five times as many bytes. */
const MAX_CHARS_OF_LOG = 1024 * 1024
const MAX_CHARS = 8 * 1024 * 1024
