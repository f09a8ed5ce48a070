import type { SessionErrorCode, TurnEndReason } from '@chirality/core'
import { expect, test } from 'vitest'
import { Verdict } from './show-turn.ts'

interface Options {
  begun?: boolean
  harness?: string
}

function adviceFor(reason: TurnEndReason, code?: SessionErrorCode, options: Options = {}): string {
  const { begun = true, harness = 'claude-code' } = options
  const verdict = new Verdict('/project', harness)
  const sessionId = 's'
  if (begun) {
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
  [
    'budget',
    'budget_exceeded',
    `chirality: The budget is used up. Raise it with "chirality budget set". ${GO_ON}\n`,
  ],
  ['failed', 'api_error', `chirality: The turn failed. ${LOG}\n`],
  ['failed', 'model_not_found', `chirality: The model is not available. Check --model. ${LOG}\n`],
  ['failed', 'rate_limited', `chirality: A rate limit is reached. Try again later. ${LOG}\n`],
  ['failed', 'overloaded', `chirality: The model is overloaded. Try again later. ${LOG}\n`],
  ['failed', 'billing', `chirality: The account cannot pay for this turn. ${LOG}\n`],
  ['crashed', undefined, `chirality: The turn failed. ${LOG}\n`],
] as const)('a turn that ended as %s with %s', (reason, code, advice) => {
  expect(adviceFor(reason, code)).toBe(advice)
})

test.each([
  ['claude-code', 'Run `claude auth login`, or set ANTHROPIC_API_KEY'],
  ['agent-sdk', 'Run `claude auth login`, or set ANTHROPIC_API_KEY'],
  ['messages-api', 'Set ANTHROPIC_API_KEY'],
  ['codex', 'Run `codex login`, or set CODEX_API_KEY'],
])('a login that is missing is that of %s', (harness, login) => {
  expect(adviceFor('failed', 'auth_failed', { harness })).toBe(
    `chirality: Not logged in. ${login}; \`chirality doctor\` shows what is there. ${LOG}\n`,
  )
})

test('a conversation that the agent has not begun cannot be continued', () => {
  expect(adviceFor('interrupted', undefined, { begun: false })).toBe('chirality: Interrupted.\n')
})

test('an error that the turn recovered from is not its verdict', () => {
  const verdict = new Verdict('/project', 'claude-code')
  verdict.see({
    type: 'session:error',
    sessionId: 's',
    error: 'e',
    code: 'session_not_found',
    recovered: true,
  })
  expect(verdict.error).toBeNull()
})
