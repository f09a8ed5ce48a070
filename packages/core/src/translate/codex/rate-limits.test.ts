import { expect, test } from 'vitest'
import { appEvents, appStatuses } from '../../../test/support/codex-lines.ts'

const RESETS_S = 1_800_000_000

const limits = (usedPercent: number | null, more: object = {}) => ({
  method: 'account/rateLimits/updated',
  params: {
    rateLimits: {
      primary: usedPercent === null ? null : { usedPercent, windowDurationMins: 300, resetsAt: RESETS_S },
      secondary: null,
      ...more,
    },
  },
})

test('C64: a limit is told when it comes near, when it is reached and when it is far again', () => {
  const statuses = appStatuses(limits(50), limits(91), limits(95), limits(100), limits(100), limits(3))
  expect(statuses.map(({ level, message }) => [level, message])).toStrictEqual([
    ['warn', '91 % of the 5 h usage limit used, resets at 2027-01-15T08:00:00.000Z'],
    ['error', 'The 5 h usage limit is reached, resets at 2027-01-15T08:00:00.000Z'],
    ['info', 'Below the 5 h usage limit again'],
  ])
  expect(statuses[0]).toMatchObject({ status: 'rate_limited', data: { primary: { usedPercent: 91 } } })
})

test('C64: the fuller of the two windows counts', () => {
  const weekly = { usedPercent: 97, windowDurationMins: 10080, resetsAt: null }
  expect(appStatuses(limits(10, { secondary: weekly }))).toMatchObject([
    { level: 'warn', message: '97 % of the 168 h usage limit used' },
  ])
})

test('C64: an update without numbers says nothing, one that names the limit does', () => {
  expect(appStatuses(limits(91), limits(null))).toHaveLength(1)
  expect(appStatuses(limits(null, { rateLimitReachedType: 'rate_limit_reached' }))).toMatchObject([
    { level: 'error', message: 'The usage limit is reached' },
  ])
})

test('an invalid time is ignored', () => {
  expect(appStatuses(limits(null, { primary: { usedPercent: 99, resetsAt: 1e300 } }))).toMatchObject([
    { message: '99 % of the usage limit used' },
  ])
})

test('C66: the windows of the plan are told with their use and reset, once as long as they are the same', () => {
  const weekly = { usedPercent: 12.5, windowDurationMins: 10080, resetsAt: null }
  const told = appEvents(limits(50, { secondary: weekly }), limits(50, { secondary: weekly }), limits(51))
  const windows = told.flatMap(event => (event.type === 'limits' ? [event.windows] : []))
  const fiveHours = { name: '5 hours', minutes: 300, resetsAt: '2027-01-15T08:00:00.000Z' }
  expect(windows).toStrictEqual([
    [
      { ...fiveHours, usedPercent: 50 },
      { name: 'week', minutes: 10080, usedPercent: 12.5 },
    ],
    [{ ...fiveHours, usedPercent: 51 }],
  ])
})
