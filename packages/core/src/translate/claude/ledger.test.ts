import { expect, test } from 'vitest'
import { eventsOf, failure, only, result } from '../../../test/support/claude-lines.ts'

const costs = (...lines: unknown[]) =>
  only(eventsOf(...lines), 'session:complete').map(event => event.costUsd)
const nothing = { input_tokens: 0, output_tokens: 0 }

test('E40: running totals become the cost of each result', () => {
  const totals = [0.00191, 0.0038200000000000005, 0.0038200000000000005]
  expect(costs(...totals.map(total_cost_usd => result({ total_cost_usd })))).toStrictEqual([
    0.00191, 0.00191, 0,
  ])
})

test('E40: a total that shrinks began again', () => {
  expect(costs(result({ total_cost_usd: 0.5 }), result({ total_cost_usd: 0.2 }))).toStrictEqual([0.5, 0.2])
})

test('E40: a new conversation counts from zero', () => {
  const reset = { type: 'conversation_reset', trigger: 'clear' }
  expect(costs(result({ total_cost_usd: 0.1 }), reset, result({ total_cost_usd: 0.3 }))).toStrictEqual([
    0.1, 0.3,
  ])
})

test('E40: what the agent itself counts since the last result wins, as after a resume', () => {
  const since = { 'model-a': { costUSD: 0.001 }, 'model-b': { costUSD: 0.0002 } }
  const resumed = result({ total_cost_usd: 5, model_usage_since_last_result: since })
  expect(costs(resumed, result({ total_cost_usd: 5.5 }))).toStrictEqual([0.0012, 0.5])
  expect(costs(result({ total_cost_usd: 5, model_usage_since_last_result: {} }))).toStrictEqual([0])
})

test('E40: a failed result is paid for and not paid again', () => {
  const events = eventsOf(failure({ total_cost_usd: 0.1 }), result({ total_cost_usd: 0.15 }))
  expect(events).toMatchObject([{ costUsd: 0.1 }, {}, { costUsd: 0.05 }])
})

test('E40: a total that is missing costs nothing and is not forgotten', () => {
  const lines = [
    result({ total_cost_usd: 0.1 }),
    result({ total_cost_usd: null }),
    result({ total_cost_usd: 0.3 }),
  ]
  expect(costs(...lines)).toStrictEqual([0.1, 0, 0.2])
})

test('E42: a turn that states no tokens takes them from what the models used since', () => {
  const model_usage_since_last_result = {
    a: { inputTokens: 1000, outputTokens: 100, cacheReadInputTokens: 5, cacheCreationInputTokens: 6 },
  }
  expect(eventsOf(failure({ usage: nothing, model_usage_since_last_result }))).toMatchObject([
    {
      usage: {
        input_tokens: 1000,
        output_tokens: 100,
        cache_read_input_tokens: 5,
        cache_creation_input_tokens: 6,
      },
    },
  ])
})

test('E42: or from the growth of the totals per model', () => {
  const first = result({ modelUsage: { a: { inputTokens: 10, outputTokens: 1 } } })
  const second = failure({ usage: nothing, modelUsage: { a: { inputTokens: 25, outputTokens: 4 } } })
  expect(only(eventsOf(first, second), 'session:error')).toMatchObject([
    { usage: { input_tokens: 15, output_tokens: 3 } },
  ])
})

test('E42: tokens that are stated are the turn’s', () => {
  const modelUsage = { a: { inputTokens: 999, outputTokens: 999 } }
  expect(only(eventsOf(result({ modelUsage })), 'session:complete')).toMatchObject([
    { usage: { input_tokens: 3, output_tokens: 4 } },
  ])
})
