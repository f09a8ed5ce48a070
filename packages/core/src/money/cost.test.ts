import { expect, test } from 'vitest'
import type { UIEvent } from '../events/ui-event.ts'
import { reduceSession } from '../session/reduce.ts'
import { initialSessionState } from '../session/state.ts'
import { budgetText } from './amounts.ts'
import { addCost, type CostLedger, costBetween, costSoFar, costText, NO_COST } from './cost.ts'

const sessionId = 's'
const start: UIEvent = { type: 'turn:start', sessionId, message: 'Go' }
const init = (model: string): UIEvent => ({
  type: 'session:init',
  sessionId,
  claudeSessionId: null,
  model,
  tools: [],
})
const usage = (tokens: number): UIEvent => ({
  type: 'usage',
  sessionId,
  usage: { input_tokens: tokens, output_tokens: 0 },
})
const result = (tokens: number, costUsd?: number): UIEvent => ({
  type: 'session:complete',
  sessionId,
  usage: { input_tokens: tokens, output_tokens: 0 },
  ...(costUsd === undefined ? {} : { costUsd }),
})
const fold = (events: UIEvent[], from: CostLedger = NO_COST) => events.reduce(addCost, from)

test('an answer counts by its list price until the agent states the cost', () => {
  const open = fold([start, init('claude-sonnet-4-5'), usage(1_000_000)])
  expect(costSoFar(open)).toMatchObject({ usd: 3, isEstimate: true, tokens: 1_000_000 })
  expect(costSoFar(fold([result(1_100_000, 3.5)], open))).toMatchObject({
    usd: 3.5,
    isEstimate: false,
    tokens: 1_100_000,
  })
})

test('cost never falls: an estimate that was too high stays until the stated sum has caught up', () => {
  const events = [
    ...[start, init('claude-sonnet-4-5'), usage(1_000_000), result(1_000_000, 2)],
    ...[start, usage(1_000_000), result(1_000_000, 2)],
    ...[start, usage(100), result(100, 2)],
  ]
  let ledger = NO_COST
  const shown = events.map(event => {
    ledger = addCost(ledger, event)
    return costSoFar(ledger).usd ?? 0
  })
  expect(shown).toEqual([...shown].sort((a, b) => a - b))
  expect(shown.at(3)).toBe(3)
  // The error is that of one turn, and does not accumulate.
  expect(costSoFar(ledger)).toMatchObject({ usd: 6, isEstimate: false })
})

test('the turns of a session add up to its cost', () => {
  const first = fold([start, init('claude-sonnet-4-5'), usage(1_000_000), result(1_000_000, 2)])
  const second = fold([start, usage(1_000_000), result(1_000_000, 2)], first)
  const parts = [costBetween(NO_COST, first), costBetween(first, second)].map(({ usd }) => usd ?? 0)
  expect(parts.reduce((sum, usd) => sum + usd, 0)).toBe(costSoFar(second).usd)
})

test('a cost that nobody knows is absent, not 0', () => {
  const unknown = fold([start, init('scripted'), usage(10), result(10)])
  expect(costSoFar(unknown)).toEqual({ usd: null, isEstimate: true, tokens: 10, unpricedTokens: 10 })
  expect(costText(costSoFar(unknown))).toBeUndefined()
  expect(costBetween(NO_COST, unknown).usd).toBeNull()
  expect(costSoFar(NO_COST).usd).toBe(0)
})

test('tokens without a price are none any more when the agent states their cost', () => {
  const stated = fold([start, init('scripted'), usage(10), result(10, 0.5)])
  expect(costSoFar(stated)).toEqual({ usd: 0.5, isEstimate: false, tokens: 10, unpricedTokens: 0 })
})

test('the recorded list price counts, not the current prices', () => {
  const events: UIEvent[] = [start, init('claude-sonnet-4-5'), { ...usage(10), estimateUsd: 7 } as UIEvent]
  expect(costText(costSoFar(fold(events)))).toBe('≈ $7.00')
})

test('a voice that counts only whole turns is priced by its result', () => {
  const ledger = fold([start, init('gpt-6.1-sol'), result(1_000_000)])
  // More than 272,000 tokens in one prompt cost twice as much.
  expect(costSoFar(ledger)).toMatchObject({ usd: 4, isEstimate: true, tokens: 1_000_000 })
})

test('the reducer shows the same number, for the session and its turns', () => {
  const events = [start, init('claude-sonnet-4-5'), usage(1_000_000), result(1_000_000, 2)]
  const envelopes = events.map((event, i) => ({
    seq: i + 1,
    at: '2026-01-01T00:00:00.000Z',
    sessionId,
    turnId: 't',
    event,
  }))
  const state = reduceSession(initialSessionState(sessionId), envelopes)
  expect(state).toMatchObject({ costUsd: 3, costIsEstimate: true })
  expect(state.turns).toMatchObject([{ costUsd: 3, costIsEstimate: true }])
})

test('a budget says what was spent, of what, and by how much that is over', () => {
  const exceeded = { type: 'budget', sessionId, scope: 'session', exceeded: true } as const
  expect(budgetText({ ...exceeded, spentUsd: 0.0625, limitUsd: 0.05 })).toBe(
    "Stopped: the session's budget is used up. $0.0625 of $0.0500 was spent, $0.0125 over by the model call that used it up.",
  )
  expect(budgetText({ ...exceeded, spentTokens: 12_000, limitTokens: 10_000 })).toContain(
    '12,000 tokens of 10,000 tokens was spent, 2,000 tokens over',
  )
})
