import type { Envelope } from '@chirality/core'

/**
 * The JSON of a batch, without its brackets. What a log hands out has the text that stands in the file, so that it goes from
 * there to a socket without being written out again, and once for all who read it.
 */
export function batchText(envelopes: readonly Envelope[]): string {
  const known = texts.get(envelopes)
  if (known !== undefined) return known
  const text = JSON.stringify(envelopes).slice(1, -1)
  texts.set(envelopes, text)
  return text
}

/** Whether this very array was handed out by a log, or asked for its text before. */
export function hasBatchText(value: unknown): value is readonly Envelope[] {
  return typeof value === 'object' && value !== null && texts.has(value as readonly Envelope[])
}

/** Batches as one, with the text that their texts make. */
export function joinBatches(batches: Envelope[][]): Envelope[] {
  const [first] = batches
  if (first !== undefined && batches.length === 1) return first
  const joined = batches.flat()
  texts.set(joined, batches.map(batchText).join(','))
  return joined
}

/** `lines` is what the file has, each with its line break. JSON has none inside. */
export function keepLines(envelopes: readonly Envelope[], lines: string): void {
  texts.set(envelopes, lines.slice(0, -1).replaceAll('\n', ','))
}

/** `text` is the envelopes with commas between them. */
export function keepText(envelopes: readonly Envelope[], text: string): void {
  texts.set(envelopes, text)
}

const texts = new WeakMap<readonly Envelope[], string>()
