import { ASSUMED_USD_PER_MILLION, allTokens, costOf, type PriceTable, type UsageInfo } from '@chirality/core'
import { addUsage } from '../api/answer.ts'
import { ApiError } from '../api/api-error.ts'
import type { PromptResult } from '../loop/agent-loop.ts'
import type { NewEvent } from './native-event.ts'

export interface ResultFacts {
  durationMs: number
  numTurns: number
  spending: TurnSpending
  /** A schema was requested: the final message is JSON. */
  expectsJson: boolean
}

/** The cost of a turn, by model. */
export interface TurnSpending {
  /** Undefined when a model has no known price. */
  costUsd: number | undefined
  models: Readonly<Record<string, { usage: UsageInfo; costUsd: number }>>
}

/** The end of the turn in the format of Claude Code's `result`. */
export function resultEvent(result: PromptResult, facts: ResultFacts): NewEvent {
  const end = endOf(result, facts.expectsJson)
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    stop_reason: result.reason,
    ...end,
    ...counted(facts),
  }
}

export function failedResult(error: unknown, facts: ResultFacts): NewEvent {
  return { type: 'result', is_error: true, ...failureOf(error), ...counted(facts) }
}

function endOf({ reason, text }: PromptResult, expectsJson: boolean): Record<string, unknown> {
  switch (reason) {
    case 'max_turns':
      return failing('error_max_turns', 'Reached the limit of requests for one turn.')
    case 'stopped':
      return failing('error_max_budget_usd', 'Reached the budget of the turn.')
    case 'refusal':
      return failing('error_during_execution', text || 'The model refused to go on.')
    case 'model_context_window_exceeded':
      return {
        ...failing('error_during_execution', 'The conversation is too long for the model.'),
        terminal_reason: 'prompt_too_long',
      }
    default:
      return expectsJson ? structured(text) : { result: text }
  }
}

function structured(text: string): Record<string, unknown> {
  try {
    return { result: text, structured_output: JSON.parse(text) as unknown }
  } catch {
    return failing('error_max_structured_output_retries', 'The answer is not the JSON that was asked for.')
  }
}

function failing(subtype: string, error: string): Record<string, unknown> {
  return { subtype, is_error: true, errors: [error] }
}

function failureOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof ApiError)) {
    const message = error instanceof Error ? error.message : String(error)
    return { subtype: 'error_during_execution', errors: [message] }
  }
  const isTooLong = error.status === 413 || /prompt is too long|context (window|limit)/i.test(error.message)
  return {
    subtype: 'success',
    result: error.message,
    terminal_reason: isTooLong ? 'prompt_too_long' : 'api_error',
    api_error_status: error.status ?? null,
    api_error_type: error.type,
    ...(error.requestId === undefined ? {} : { request_id: error.requestId }),
  }
}

function counted({ durationMs, numTurns, spending }: ResultFacts): Record<string, unknown> {
  const modelUsage = Object.fromEntries(
    Object.entries(spending.models).map(([model, { usage, costUsd }]) => [
      model,
      {
        inputTokens: usage.input_tokens,
        outputTokens: usage.output_tokens,
        cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
        cacheCreationInputTokens: usage.cache_creation_input_tokens ?? 0,
        costUSD: costUsd,
      },
    ]),
  )
  const cost = spending.costUsd === undefined ? {} : { total_cost_usd: spending.costUsd }
  return { duration_ms: durationMs, num_turns: numTurns, ...cost, modelUsage }
}

/** Adds up the cost of the answers of a turn. */
export class SpendingMeter {
  readonly #prices: PriceTable | undefined
  readonly #models: Record<string, { usage: UsageInfo; costUsd: number }> = {}
  #unpricedTokens = 0

  constructor(prices: PriceTable | undefined) {
    this.#prices = prices
  }

  add(usage: UsageInfo, model: string): void {
    const before = this.#models[model]
    const price = costOf(usage, model, this.#prices)
    if (price === undefined) this.#unpricedTokens += allTokens(usage)
    const costUsd = price ?? 0
    this.#models[model] = before
      ? { usage: addUsage(before.usage, usage), costUsd: before.costUsd + costUsd }
      : { usage, costUsd }
  }

  get spending(): TurnSpending {
    return { costUsd: this.#unpricedTokens > 0 ? undefined : this.#pricedUsd, models: { ...this.#models } }
  }

  /** The amount that counts towards a budget in dollars. Tokens without a price are not free. */
  get budgetedUsd(): number {
    return this.#pricedUsd + (this.#unpricedTokens * ASSUMED_USD_PER_MILLION) / 1e6
  }

  get #pricedUsd(): number {
    return Object.values(this.#models).reduce((total, model) => total + model.costUsd, 0)
  }
}
