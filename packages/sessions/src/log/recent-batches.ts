import { type Envelope, type TextRef, TextsOnce } from '@chirality/core'
import { encodeLine } from './envelope-line.ts'
import { type EventText, textOfLines } from './event-text.ts'

interface RecentBatch {
  envelopes: Envelope[]
  from: number
  to: number
  lines: string
  /** Built once for all readers. */
  text?: EventText
  /** Without texts that were already sent in pieces; the earliest of those began with event `from`. */
  once?: { text: EventText; from: number } | undefined
}

/**
 * The last published batches, for readers that keep up. Slower readers read the file. All logs of the process share one
 * memory limit: the log that has been silent for longest loses its batches first.
 */
export class RecentBatches {
  /** The logs that hold batches; the one with the newest batch is last. */
  static readonly #holders = new Set<RecentBatches>()
  static #heldChars = 0
  #texts = new TextsOnce()
  #batches: RecentBatch[] = []
  #chars = 0

  push(envelopes: Envelope[], lines: string): void {
    const from = envelopes[0]?.seq ?? 0
    const to = from + envelopes.length - 1
    this.#batches.push({ envelopes, from, to, lines, once: this.#once(envelopes, lines) })
    this.#count(lines.length)
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
    if (batch.once && batch.once.from > knownFrom) return batch.once.text
    batch.text ??= textOfLines(batch.from, batch.to, batch.lines)
    return batch.text
  }

  clear(): void {
    this.#texts = new TextsOnce()
    this.#batches = []
    this.#count(-this.#chars)
    RecentBatches.#holders.delete(this)
  }

  #once(envelopes: Envelope[], lines: string): RecentBatch['once'] {
    let from = Number.POSITIVE_INFINITY
    const sent = envelopes.map(envelope => {
      const once = this.#texts.once(envelope)
      if (once !== undefined && 'textOf' in once.event)
        from = Math.min(from, (once.event.textOf as TextRef).from)
      return once
    })
    if (from === Number.POSITIVE_INFINITY) return undefined
    const whole = lines.split('\n')
    const short = sent.map((once, i) => (once === undefined ? `${whole[i]}\n` : encodeLine(once))).join('')
    const [first] = envelopes
    return first && { text: textOfLines(first.seq, first.seq + envelopes.length - 1, short), from }
  }

  #forgetFirst(): void {
    const chars = this.#batches.shift()?.lines.length ?? 0
    this.#count(-chars)
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

/** Characters of the lines; with their envelopes and the sent text they take about five times as many bytes. */
const MAX_CHARS_OF_LOG = 1024 * 1024
const MAX_CHARS = 8 * 1024 * 1024
