import { expect, test } from 'vitest'
import { eventsOf, failure, only, result } from '../../../../test/support/claude-lines.ts'

const costs = (...lines: unknown[]) =>
  only(eventsOf(...lines), 'session:complete').map(event => event.costUsd)
const nothing = { input_tokens: 0, output_tokens: 0 }

test('E40: running totals become the cost of each result', () => {
  const totals = [0.00191, 0.0038200000000000005, 0.0038200000000000005]
  expect(costs(...totals.map(total_cost_usd => result({ total_cost_usd })))).toStrictEqual([
    0.00191, 0.00191, 0,
  ])
})

test('E40: a smaller total counts from zero', () => {
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

test('E42: what sub-agents used counts in the tokens as it does in the cost', () => {
  const totals = (inputTokens: number, costUSD: number) => ({
    modelUsage: { a: { inputTokens: inputTokens - 5, outputTokens: 1, costUSD }, b: { inputTokens: 5 } },
  })
  const first = result({ ...totals(400, 0.004), total_cost_usd: 0.004 })
  const second = result({ ...totals(700, 0.007), total_cost_usd: 0.007 })
  expect(only(eventsOf(first, second), 'session:complete')).toMatchObject([
    { costUsd: 0.004, usage: { input_tokens: 400, output_tokens: 1 } },
    { costUsd: 0.003, usage: { input_tokens: 300, output_tokens: 0 } },
  ])
})

test('E42: a total that is older than the counts beside it is not mixed with them', () => {
  const modelUsage = { a: { inputTokens: 500, outputTokens: 100, costUSD: 0.005 } }
  const events = eventsOf(
    result({ modelUsage, total_cost_usd: 0.002 }),
    result({ modelUsage, total_cost_usd: 0.005 }),
  )
  expect(only(events, 'session:complete')).toMatchObject([
    { costUsd: 0.005, usage: { input_tokens: 500, output_tokens: 100 } },
    { costUsd: 0, usage: { input_tokens: 0, output_tokens: 0 } },
  ])
})

test('E42: smaller counts count from zero', () => {
  const used = (inputTokens: number, costUSD: number) =>
    result({ modelUsage: { a: { inputTokens, outputTokens: 1, costUSD } }, total_cost_usd: costUSD })
  expect(only(eventsOf(used(500, 0.005), used(200, 0.002)), 'session:complete')[1]).toMatchObject({
    costUsd: 0.002,
    usage: { input_tokens: 200, output_tokens: 1 },
  })
})

test.each([[undefined], [null], [{}]])(
  'E42: without counts per model (%j) it is what the result states',
  modelUsage => {
    expect(eventsOf(result({ modelUsage }))[1]).toMatchObject({
      costUsd: 0.01,
      usage: { input_tokens: 3, output_tokens: 4 },
    })
  },
)

test('E42: counts without prices leave the cost to the total', () => {
  const modelUsage = { a: { inputTokens: 999, outputTokens: 9 } }
  expect(eventsOf(result({ modelUsage }))[1]).toMatchObject({ costUsd: 0.01, usage: { input_tokens: 999 } })
})
