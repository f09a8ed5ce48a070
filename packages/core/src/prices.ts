import type { UsageInfo } from './ui-event.ts'

/** USD for a million tokens. */
export interface ModelPrice {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

/** By the beginning of the model's name; the longest that fits counts. */
export type PriceTable = Readonly<Record<string, ModelPrice>>

/**
 * What the tokens cost, or undefined for a model without a price. An estimate: agents that state a cost are believed
 * instead, and whoever has other prices passes their own.
 */
export function costOf(usage: UsageInfo, model: string, prices: PriceTable = PRICES): number | undefined {
  const price = priceOf(model, prices)
  if (price === undefined) return undefined
  const sum =
    usage.input_tokens * price.input +
    usage.output_tokens * price.output +
    (usage.cache_read_input_tokens ?? 0) * price.cacheRead +
    (usage.cache_creation_input_tokens ?? 0) * price.cacheWrite
  return sum / 1e6
}

export function priceOf(model: string, prices: PriceTable = PRICES): ModelPrice | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1)
  const fits = Object.keys(prices).filter(start => name.startsWith(start))
  const longest = fits.sort((a, b) => b.length - a.length)[0]
  return longest === undefined ? undefined : prices[longest]
}

/** List prices of the vendors. A new model of a known family costs what the family does, until it is listed. */
export const PRICES: PriceTable = {
  'claude-opus-4': anthropic(5, 25),
  'claude-opus-4-0': anthropic(15, 75),
  'claude-opus-4-1': anthropic(15, 75),
  'claude-opus-4-2025': anthropic(15, 75),
  'claude-opus': anthropic(5, 25),
  'claude-3-opus': anthropic(15, 75),
  'claude-sonnet': anthropic(3, 15),
  'claude-3-7-sonnet': anthropic(3, 15),
  'claude-3-5-sonnet': anthropic(3, 15),
  'claude-haiku': anthropic(1, 5),
  'claude-3-5-haiku': anthropic(0.8, 4),
  'claude-3-haiku': anthropic(0.25, 1.25),
  'gpt-5': openai(1.25, 10),
  'gpt-5-mini': openai(0.25, 2),
  'gpt-5-nano': openai(0.05, 0.4),
  'gpt-4.1': openai(2, 8),
}

/** Reading from the cache is a tenth of the input, writing to it a quarter more. */
function anthropic(input: number, output: number): ModelPrice {
  return { input, output, cacheRead: input * 0.1, cacheWrite: input * 1.25 }
}

/** Writing to the cache is not charged on its own. */
function openai(input: number, output: number): ModelPrice {
  return { input, output, cacheRead: input * 0.1, cacheWrite: input }
}
