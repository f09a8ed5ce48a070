import { expect, test } from 'vitest'
import { costOf, PRICES, parsePrices, priceOf } from './prices.ts'

const million = { input_tokens: 1e6, output_tokens: 1e6 }

test('tokens of every kind have their price', () => {
  const usage = { ...million, cache_read_input_tokens: 1e6, cache_creation_input_tokens: 1e6 }
  expect(costOf(usage, 'claude-sonnet-4-5')).toBeCloseTo(3 + 15 + 0.3 + 3.75)
})

test('the longest matching prefix gives the price', () => {
  expect(priceOf('gpt-5-mini-2025-08-07')?.output).toBe(2)
  expect(priceOf('gpt-5.5')?.output).toBe(30)
  expect(priceOf('claude-opus-4-1-20250805')?.input).toBe(15)
  expect(priceOf('claude-opus-4-20250514')?.input).toBe(15)
  expect(priceOf('claude-opus-4-8')?.input).toBe(5)
})

test('a model behind a gateway costs what it costs', () => {
  expect(priceOf('anthropic/claude-haiku-4-5')).toBe(PRICES['claude-haiku'])
})

test('a model without a price has none, rather than none to pay', () => {
  expect(costOf(million, 'scripted')).toBeUndefined()
})

test("the user's prices replace the list prices", () => {
  const prices = { scripted: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } }
  expect(costOf(million, 'scripted-1', prices)).toBe(3)
  expect(costOf(million, 'claude-haiku-4-5', prices)).toBeUndefined()
})

test('a prompt over the threshold costs the long price, all of it', () => {
  expect(costOf({ input_tokens: 272_000, output_tokens: 0 }, 'gpt-6.1-sol')).toBeCloseTo(0.544)
  expect(
    costOf({ input_tokens: 200_000, cache_read_input_tokens: 80_000, output_tokens: 0 }, 'gpt-6.1-sol'),
  ).toBeCloseTo(2 * (0.4 + 0.008))
})

test('own prices are added to ours, and a mistake is named by its field', () => {
  const parsed = parsePrices('{"scripted": {"input": 1, "output": 2}}')
  const { prices } = parsed as { prices: typeof PRICES }
  expect(costOf(million, 'scripted-1', prices)).toBe(3)
  expect(prices['claude-haiku']).toBe(PRICES['claude-haiku'])
  const problem = (text: string) => (parsePrices(text) as { problem: string }).problem
  expect(problem('{')).toContain('not JSON')
  expect(problem('[]')).toContain('object of models')
  expect(problem('{"a": {"input": 1}}')).toBe('"a".output must be a number of dollars, 0 or more')
  expect(problem('{"a": {"input": -1, "output": 1}}')).toContain('"a".input')
  expect(problem('{"a": {"input": 1, "output": 1, "cache": 1}}')).toContain('"a".cache is not known')
})
