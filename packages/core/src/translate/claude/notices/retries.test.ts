import { describe, expect, test } from 'vitest'
import { eventsOf, statuses, system } from '../../../../test/support/claude-lines.ts'

describe('retries', () => {
  test('E61: say what failed and when it is tried again', () => {
    const retry = system('api_retry', {
      attempt: 1,
      max_retries: 10,
      retry_delay_ms: 571.1,
      error_status: 529,
      error: 'overloaded',
    })
    expect(statuses(retry)).toStrictEqual([
      {
        type: 'status',
        sessionId: 'ours',
        status: 'retrying',
        message: 'Overloaded (529), retry 1 of 10 in 0.6 s',
        level: 'warn',
        data: { attempt: 1, maxRetries: 10, delayMs: 571.1, apiStatus: 529, error: 'overloaded' },
      },
    ])
  })

  test.each([
    [
      { attempt: 2, max_retries: 3, retry_delay_ms: 1000, error_status: 429, error: 'rate_limit' },
      'Rate limited (429), retry 2 of 3 in 1.0 s',
    ],
    [
      { attempt: 1, retry_delay_ms: 20, error_status: 500, error: 'server_error' },
      'Server error (500), retry 1 in 0.0 s',
    ],
    [{ attempt: 1, max_retries: 2, error_status: 418, error: 'new' }, 'API error (418), retry 1 of 2'],
    [
      { attempt: 1, max_retries: 2, retry_delay_ms: 500, error_status: null, error: 'unknown' },
      'The connection to the API failed, retry 1 of 2 in 0.5 s',
    ],
    [{}, 'The connection to the API failed, trying again'],
  ])('E61: %# reads %s', (fields, message) => {
    expect(statuses(system('api_retry', fields))).toMatchObject([{ message }])
  })
})

describe('rate limits', () => {
  const limit = (rate_limit_info: unknown) => ({ type: 'rate_limit_event', rate_limit_info })
  const warning = limit({
    status: 'allowed_warning',
    rateLimitType: 'five_hour',
    utilization: 0.93,
    resetsAt: 1794793084,
  })

  test('E62: a warning says how much is used and when it resets', () => {
    expect(statuses(warning)).toMatchObject([
      {
        status: 'rate_limited',
        level: 'warn',
        message: '93 % of the five hour limit used, resets at 2026-11-16T01:38:04.000Z',
        data: { status: 'allowed_warning', utilization: 0.93 },
      },
    ])
  })

  test.each([
    [{ status: 'rejected', rateLimitType: 'seven_day' }, 'error', 'The seven day limit is reached'],
    [{ status: 'allowed_warning' }, 'warn', 'Close to the usage limit'],
    [
      { status: 'allowed', isUsingOverage: true },
      'info',
      'Beyond the usage limit: extra usage is being spent',
    ],
    [{ status: 'rejected', resetsAt: 1e20 }, 'error', 'The usage limit is reached'],
  ])('E62: %j is %s', (info, level, message) => {
    expect(statuses(limit(info))).toMatchObject([{ level, message }])
  })

  test('E62: that all is well is news only after a warning', () => {
    const allowed = limit({ status: 'allowed' })
    expect(statuses(allowed)).toStrictEqual([])
    expect(statuses(warning, allowed, allowed).map(event => event.message)).toStrictEqual([
      '93 % of the five hour limit used, resets at 2026-11-16T01:38:04.000Z',
      'Below the usage limit again',
    ])
  })

  test('E72: the windows of the plan are told with their use and reset, also while all is well, once', () => {
    const fine = limit({
      status: 'allowed',
      unifiedWindows: {
        five_hour: { utilization: 0.123, resetsAt: 1794793084, status: 'allowed' },
        seven_day_opus: { status: 'allowed' },
        new_kind: { utilization: -1, resetsAt: 1e20 },
        broken: null,
      },
    })
    const windows = eventsOf(fine, fine, warning, limit({ status: 'rejected', rateLimitType: 'seven_day' }))
      .filter(event => event.type === 'limits')
      .map(event => event.windows)
    const resetsAt = '2026-11-16T01:38:04.000Z'
    expect(windows).toStrictEqual([
      [
        { name: '5 hours', minutes: 300, usedPercent: 12.3, resetsAt },
        { name: 'week, Opus', minutes: 10080 },
        { name: 'new kind', usedPercent: 0 },
      ],
      [{ name: '5 hours', minutes: 300, usedPercent: 93, resetsAt }],
      [{ name: 'week', minutes: 10080, usedPercent: 100 }],
    ])
    expect(eventsOf(limit({ status: 'allowed' }))).toStrictEqual([])
  })
})
