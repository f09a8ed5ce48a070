import { type Envelope, type TextRef, TextsOnce } from '@chirality/core'
import { encodeLine } from './envelope-line.ts'
import { type EventText, textOfLines } from './event-text.ts'

interface RecentBatch {
  envelopes: Envelope[]
  from: number
  to: number
  lines: string
  /** Made once for all who read it. */
  text?: EventText
  /** Without the texts that came before in pieces; the earliest of those began with event `from`. */
  once?: { text: EventText; from: number } | undefined
}

/**
 * The last batches that were published, for readers that keep up. Whoever falls behind reads the file. All logs of the process
 * share what may be held: that of the log that was longest without news goes first.
 */
export class RecentBatches {
  /** Those that hold something; the one with the newest batch is the last. */
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

  /** Of all logs of the process. */
  static get heldChars(): number {
    return RecentBatches.#heldChars
  }

  /** What comes after `seq`, or undefined when it is not held any more. */
  after(seq: number): Envelope[] | undefined {
    const batch = this.#with(seq + 1)
    if (batch === undefined) return undefined
    return batch.from === seq + 1 ? batch.envelopes : batch.envelopes.slice(seq + 1 - batch.from)
  }

  /**
   * The same as text; undefined also for who comes in the middle of a batch. Who has had everything after `knownFrom` gets each
   * text once.
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

/** Of the lines; with their envelopes and what is sent they take about five times as many bytes. */
const MAX_CHARS_OF_LOG = 1024 * 1024
const MAX_CHARS = 8 * 1024 * 1024
