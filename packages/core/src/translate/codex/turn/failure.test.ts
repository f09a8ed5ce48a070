import { describe, expect, test } from 'vitest'
import { describeCodexFailure } from './failure.ts'

const code = (message: string, info?: unknown, details?: string) =>
  describeCodexFailure({ message, info, details }).code

describe('C32: both voices give one failure the same code', () => {
  // The words and names of real failures.
  test.each([
    [
      'auth_failed',
      'unexpected status 401 Unauthorized: Incorrect API key provided., url: http://127.0.0.1:1/v1/responses',
      { httpConnectionFailed: { httpStatusCode: 401 } },
    ],
    [
      'auth_failed',
      'unexpected status 403 Forbidden: no access, url: http://127.0.0.1:1/v1/responses',
      { httpConnectionFailed: { httpStatusCode: 403 } },
    ],
    [
      'model_not_found',
      'unexpected status 404 Not Found: The resource does not exist., url: http://127.0.0.1:1/v1/responses',
      { httpConnectionFailed: { httpStatusCode: 404 } },
    ],
    [
      'invalid_request',
      'unexpected status 413 Payload Too Large: too large, url: http://127.0.0.1:1/v1/responses',
      { httpConnectionFailed: { httpStatusCode: 413 } },
    ],
    [
      'rate_limited',
      'exceeded retry limit, last status: 429 Too Many Requests, request id: req_1',
      { responseTooManyFailedAttempts: { httpStatusCode: 429 } },
    ],
    ['rate_limited', 'rate limit exceeded: slow down', 'rateLimitExceeded'],
    [
      'rate_limited',
      'You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more credits or try again later.',
      'usageLimitExceeded',
    ],
    ['billing', 'Quota exceeded. Check your plan and billing details.', 'usageLimitExceeded'],
    [
      'context_overflow',
      "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
      'contextWindowExceeded',
    ],
    ['overloaded', 'Selected model is at capacity. Please try a different model.', 'serverOverloaded'],
    [
      'api_error',
      'We’re currently experiencing high demand, which may cause temporary errors.',
      'internalServerError',
    ],
    [
      'api_error',
      'stream disconnected before completion: error sending request',
      { responseStreamDisconnected: { httpStatusCode: null } },
    ],
    ['api_error', 'Incomplete response returned, reason: max_output_tokens', 'other'],
    [
      'invalid_request',
      '{"error":{"message":"The request is not valid.","type":"invalid_request_error","param":null,"code":null}}',
      'other',
    ],
    ['invalid_request', '{"error":{"message":"no","type":"odd","code":null}}', 'other'],
    ['auth_failed', 'Missing environment variable: `SOME_KEY`.', 'other'],
    ['unknown', 'bad model', 'other'],
  ])('C32: %s: %s', (expected, message, info) => {
    expect(code(message)).toBe(expected)
    expect(code(message, info)).toBe(expected)
  })
})

describe('C32: signs, from the most telling to the least', () => {
  test.each([
    ['modelNotFound', 'model_not_found'],
    ['sessionBudgetExceeded', 'budget_exceeded'],
    ['cyberPolicy', 'refused'],
    ['misalignmentPolicyViolation', 'refused'],
    ['unauthorized', 'auth_failed'],
    ['badRequest', 'invalid_request'],
    [{ httpConnectionFailed: { httpStatusCode: 502 } }, 'api_error'],
    [{ httpConnectionFailed: { httpStatusCode: null } }, 'api_error'],
    [{ httpConnectionFailed: null }, 'api_error'],
    ['somethingNew', 'unknown'],
    [{}, 'unknown'],
    [7, 'unknown'],
    [null, 'unknown'],
  ])('C32: what app-server calls %j is %s', (info, expected) => {
    expect(code('no words for it', info)).toBe(expected)
  })

  test('C32: the error name takes precedence over the message text', () => {
    expect(code('rate limit of the context window', 'contextWindowExceeded')).toBe('context_overflow')
  })

  test('C32: the body of a refused request is read, not shown', () => {
    const body = {
      error: { message: 'No such model.', type: 'invalid_request_error', code: 'model_not_found' },
    }
    expect(describeCodexFailure({ message: JSON.stringify(body) })).toStrictEqual({
      code: 'model_not_found',
      error: 'No such model.',
      apiStatus: undefined,
    })
    expect(describeCodexFailure({ message: '{ not JSON' })).toMatchObject({
      code: 'unknown',
      error: '{ not JSON',
    })
  })

  test('C32: the status comes from the words where nothing else has it', () => {
    expect(describeCodexFailure({ message: 'unexpected status 401 Unauthorized' }).apiStatus).toBe(401)
    expect(describeCodexFailure({ message: 'cut', details: 'last status: 503 x' })).toMatchObject({
      code: 'overloaded',
      error: 'cut (last status: 503 x)',
      apiStatus: 503,
    })
  })

  test('C32: an empty error has a default message', () => {
    expect(describeCodexFailure({ message: '' })).toMatchObject({
      code: 'unknown',
      error: 'The agent failed and did not say why',
    })
  })
})
