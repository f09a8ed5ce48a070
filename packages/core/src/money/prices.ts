import type { UsageInfo } from '../events/ui-event.ts'

/** USD for a million tokens. */
export interface ModelPrice {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** A call with a longer prompt than this costs this many times as much, all of it. */
  longPrompt?: { aboveTokens: number; input: number; output: number }
}

/** By the prefix of the model's name; the longest match counts. */
export type PriceTable = Readonly<Record<string, ModelPrice>>

/**
 * The price of the tokens, or undefined for a model without one. An estimate: a cost that an agent states replaces it,
 * and callers with other prices pass their own.
 */
export function costOf(usage: UsageInfo, model: string, prices: PriceTable = PRICES): number | undefined {
  const price = priceOf(model, prices)
  if (price === undefined) return undefined
  const { input_tokens, output_tokens, cache_read_input_tokens = 0, cache_creation_input_tokens = 0 } = usage
  const { longPrompt } = price
  const promptTokens = input_tokens + cache_read_input_tokens + cache_creation_input_tokens
  const isLong = longPrompt !== undefined && promptTokens > longPrompt.aboveTokens
  const read =
    input_tokens * price.input +
    cache_read_input_tokens * price.cacheRead +
    cache_creation_input_tokens * price.cacheWrite
  const written = output_tokens * price.output
  return (read * (isLong ? longPrompt.input : 1) + written * (isLong ? longPrompt.output : 1)) / 1e6
}

export function priceOf(model: string, prices: PriceTable = PRICES): ModelPrice | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1)
  const fits = Object.keys(prices).filter(start => name.startsWith(start))
  const longest = fits.sort((a, b) => b.length - a.length)[0]
  return longest === undefined ? undefined : prices[longest]
}

/** The assumed price of tokens without one, for budgets in dollars: higher than an agent's usual mix. */
export const ASSUMED_USD_PER_MILLION = 10

/**
 * List prices of the vendors as of 2026-11-16, standard tier, for every model that the harnesses list. A new Claude of
 * a known family costs what the family does until it is listed; OpenAI's prices differ too much for that, so from 6 on
 * each model has its own line.
 */
export const PRICES: PriceTable = {
  'claude-fable-5': anthropic(10, 50),
  'claude-fable-5-1': anthropic(10, 50, { cacheRead: 0.25 }),
  'claude-mythos-5': anthropic(10, 50),
  'claude-mythos-5-1': anthropic(10, 50, { cacheRead: 0.25 }),
  'claude-opus': anthropic(5, 25),
  'claude-opus-5-5': anthropic(4, 20, { cacheRead: 0.2 }),
  'claude-opus-4-0': anthropic(15, 75),
  'claude-opus-4-1': anthropic(15, 75),
  'claude-opus-4-2025': anthropic(15, 75),
  'claude-3-opus': anthropic(15, 75),
  'claude-sonnet': anthropic(3, 15),
  'claude-sonnet-5': anthropic(2, 10),
  'claude-sonnet-5-5': anthropic(2, 10, { cacheRead: 0.1 }),
  'claude-3-7-sonnet': anthropic(3, 15),
  'claude-3-5-sonnet': anthropic(3, 15),
  'claude-haiku': anthropic(1, 5),
  'claude-haiku-5-5': anthropic(0.1, 0.5, { longPrompt: { aboveTokens: 100_000, input: 5, output: 5 } }),
  'claude-3-5-haiku': anthropic(0.8, 4),
  'claude-3-haiku': anthropic(0.25, 1.25),
  'gpt-6.1-sol': openai(2, 10, { cacheRead: 0.1 }),
  'gpt-6.1-terra': openai(1, 5, { cacheRead: 0.05 }),
  'gpt-6-astra': openai(10, 50),
  'gpt-6-sol': openai(2, 10),
  'gpt-6-luna': openai(0.1, 0.5),
  'gpt-5.6-sol': openai(4, 20),
  'gpt-5.6-terra': openai(2, 12),
  'gpt-5.6-luna': openai(0.2, 1.2),
  'gpt-5.5': openai(5, 30),
  'gpt-5.5-pro': openai(30, 180, { cacheRead: 30 }),
  'gpt-5.4': openai(2.5, 15),
  'gpt-5.4-mini': openai(0.75, 4.5),
  'gpt-5.4-nano': openai(0.2, 1.25),
  'gpt-5.3': openai(1.75, 14),
  'gpt-5.2': openai(1.75, 14),
  'gpt-5': openai(1.25, 10),
  'gpt-5-mini': openai(0.25, 2),
  'gpt-5-nano': openai(0.05, 0.4),
  'gpt-4.1': openai(2, 8, { cacheRead: 0.5 }),
}

/** A cache read costs a tenth of the input price by default, a cache write for five minutes a quarter more than it. */
function anthropic(input: number, output: number, more: Partial<ModelPrice> = {}): ModelPrice {
  return { input, output, cacheRead: input * 0.1, cacheWrite: input * 1.25, ...more }
}

/** A prompt of more than 272,000 tokens costs twice as much for input, and half as much again for output. */
function openai(input: number, output: number, more: Partial<ModelPrice> = {}): ModelPrice {
  const longPrompt = { aboveTokens: 272_000, input: 2, output: 1.5 }
  return { input, output, cacheRead: input * 0.1, cacheWrite: input * 1.25, longPrompt, ...more }
}

export type ParsedPrices = { prices: PriceTable } | { problem: string }

/**
 * A user's own prices: `{ "model": { "input": 2, "output": 10, "cacheRead": 0.2, "cacheWrite": 2.5 } }`, USD for a
 * million tokens. They override the built-in ones. `problem` names the invalid field.
 */
export function parsePrices(text: string): ParsedPrices {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: `it is not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
  if (!isRecord(value)) return { problem: 'it must be an object of models' }
  const own: Record<string, ModelPrice> = {}
  for (const [model, fields] of Object.entries(value)) {
    if (model === '') return { problem: 'a model must have a name' }
    if (!isRecord(fields)) return { problem: `"${model}" must be an object with input and output` }
    const { input, output, ...rest } = fields
    const { cacheRead = input, cacheWrite = input, ...unknown } = rest
    for (const [name, amount] of Object.entries({ input, output, cacheRead, cacheWrite }))
      if (!isAmount(amount)) return { problem: `"${model}".${name} must be a number of dollars, 0 or more` }
    const [stranger] = Object.keys(unknown)
    if (stranger !== undefined)
      return { problem: `"${model}".${stranger} is not known: use input, output, cacheRead and cacheWrite` }
    own[model] = { input, output, cacheRead, cacheWrite } as ModelPrice
  }
  return { prices: { ...PRICES, ...own } }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
