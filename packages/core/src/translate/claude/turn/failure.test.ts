import { expect, test } from 'vitest'
import {
  apiErrorMessage,
  assistant,
  eventsOf,
  failure,
  only,
  system,
  text,
} from '../../../../test/support/claude-lines.ts'
import type { SessionErrorCode } from '../../../events/ui-event.ts'

function codeOf(...lines: unknown[]): SessionErrorCode | undefined {
  return only(eventsOf(...lines), 'session:error')[0]?.code
}

const retry = (error_status: number | null, error: string) =>
  system('api_retry', { attempt: 1, max_retries: 1, retry_delay_ms: 5, error_status, error })

test.each<[string, SessionErrorCode, unknown[]]>([
  [
    'max turns',
    'max_turns',
    [failure({ subtype: 'error_max_turns', errors: ['Reached maximum number of turns (2)'] })],
  ],
  ['a budget', 'budget_exceeded', [failure({ subtype: 'error_max_budget_usd' })]],
  ['structured output', 'structured_output', [failure({ subtype: 'error_max_structured_output_retries' })]],
  [
    'a missing session',
    'session_not_found',
    [failure({ errors: ['No conversation found with session ID: 1'] })],
  ],
  ['an interrupt in text', 'interrupted', [failure({ terminal_reason: 'aborted_streaming' })]],
  ['an interrupt in a tool', 'interrupted', [failure({ terminal_reason: 'aborted_tools' })]],
  [
    'a prompt that is too long, though its error says invalid_request',
    'context_overflow',
    [
      apiErrorMessage('invalid_request', 'x'),
      failure({ terminal_reason: 'prompt_too_long', api_error_status: 400 }),
    ],
  ],
  [
    'a refusal, though its error says invalid_request',
    'refused',
    [apiErrorMessage('invalid_request', 'x'), failure({ stop_reason: 'refusal' })],
  ],
  [
    'no login',
    'auth_failed',
    [apiErrorMessage('authentication_failed', 'x'), failure({ result: 'Not logged in' })],
  ],
  [
    'no login, from the wording alone',
    'auth_failed',
    [failure({ result: 'Not logged in · Please run /login' })],
  ],
  ['no credit', 'billing', [apiErrorMessage('billing_error', 'x'), failure({ api_error_status: 400 })]],
  ['a model that does not exist', 'model_not_found', [apiErrorMessage('model_not_found', 'x'), failure()]],
  [
    '400 without a name',
    'invalid_request',
    [apiErrorMessage('unknown', 'x'), failure({ api_error_status: 400 })],
  ],
  ['401', 'auth_failed', [failure({ api_error_status: 401 })]],
  ['403', 'auth_failed', [failure({ api_error_status: 403 })]],
  ['429', 'rate_limited', [failure({ api_error_status: 429 })]],
  ['500', 'api_error', [apiErrorMessage('server_error', 'x'), failure({ api_error_status: 500 })]],
  ['529', 'overloaded', [apiErrorMessage('server_error', 'x'), failure({ api_error_status: 529 })]],
  [
    '529 of a version that forgets the status',
    'overloaded',
    [retry(529, 'overloaded'), apiErrorMessage('server_error', 'x'), failure({ api_error_status: null })],
  ],
  ['no connection', 'api_error', [retry(null, 'unknown'), apiErrorMessage('server_error', 'x'), failure()]],
  ['nothing at all', 'unknown', [failure()]],
])('E32: %s is %s', (_, code, lines) => {
  expect(codeOf(...lines)).toBe(code)
})

test('E32: a retry that got its answer explains no later failure', () => {
  const lines = [
    retry(529, 'overloaded'),
    assistant('m', text('ok')),
    apiErrorMessage('server_error', 'x'),
    failure(),
  ]
  expect(codeOf(...lines)).toBe('api_error')
})

test('E32: a person who stops a retry did not meet an API error', () => {
  const events = eventsOf(retry(529, 'overloaded'), failure({ terminal_reason: 'aborted_streaming' }))
  expect(only(events, 'session:error')[0]).not.toHaveProperty('apiStatus')
})

test.each(['constructor', 'toString', '__proto__'])('E32: %s is the name of no error', name => {
  const lines = [apiErrorMessage(name, 'x'), failure({ subtype: name, terminal_reason: name })]
  expect(codeOf(...lines)).toBe('api_error')
})
