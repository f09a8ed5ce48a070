import type { SessionErrorCode, TurnEndReason } from '@chirality/core'
import { expect, test } from 'vitest'
import { Verdict } from './verdict.ts'

function adviceFor(reason: TurnEndReason, code?: SessionErrorCode, options = { begun: true }): string {
  const verdict = new Verdict('/project')
  const sessionId = 's'
  if (options.begun) {
    verdict.see({ type: 'session:init', sessionId, claudeSessionId: 'native', model: 'm', tools: [] })
  }
  if (code) verdict.see({ type: 'session:error', sessionId, error: 'e', code })
  verdict.see({ type: 'turn:end', sessionId, reason })
  return verdict.advice()
}

const GO_ON = 'Continue with --session native.'
const LOG = 'The raw log is in /project/.chirality/logs.'

test.each([
  ['completed', undefined, ''],
  ['interrupted', 'interrupted', `chirality: Interrupted. ${GO_ON}\n`],
  ['killed', undefined, `chirality: The agent was stopped. ${GO_ON}\n`],
  ['timeout', 'timeout', `chirality: Stopped by the timeout. Raise --timeout. ${GO_ON}\n`],
  ['max_turns', 'max_turns', `chirality: The turn limit is reached. Raise --max-turns. ${GO_ON}\n`],
  ['budget', 'budget_exceeded', `chirality: The budget is used up. ${GO_ON}\n`],
  ['failed', 'api_error', `chirality: The turn failed. ${LOG}\n`],
  ['failed', 'model_not_found', `chirality: The model is not available. Check --model. ${LOG}\n`],
  ['failed', 'rate_limited', `chirality: A rate limit is reached. Try again later. ${LOG}\n`],
  ['crashed', undefined, `chirality: The turn failed. ${LOG}\n`],
] as const)('a turn that ended as %s with %s', (reason, code, advice) => {
  expect(adviceFor(reason, code)).toBe(advice)
})

test('what the agent has not begun cannot be continued', () => {
  expect(adviceFor('interrupted', undefined, { begun: false })).toBe('chirality: Interrupted.\n')
})

test('an error that the turn recovered from is not its verdict', () => {
  const verdict = new Verdict('/project')
  verdict.see({
    type: 'session:error',
    sessionId: 's',
    error: 'e',
    code: 'session_not_found',
    recovered: true,
  })
  expect(verdict.error).toBeNull()
})
