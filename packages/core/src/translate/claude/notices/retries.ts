import type { PlanWindow, StatusEvent, UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeRateLimitEvent } from '../../../native/claude/other-events.ts'
import type { ClaudeApiRetryEvent } from '../../../native/claude/system-events.ts'
import { asNumber, asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { isoTime, limitsIfNew, present, status } from '../../shared.ts'
import { type TranslatorState, unknownOfClaude } from '../state.ts'

export function translateApiRetry(state: TranslatorState, event: ClaudeApiRetryEvent): UIEvent[] {
  const httpStatus = asNumber(event.error_status)
  const error = asText(event.error)
  const attempt = asNumber(event.attempt)
  const maxRetries = asNumber(event.max_retries)
  const delayMs = asNumber(event.retry_delay_ms)
  state.lastRetry = { error, status: httpStatus, text: '' }
  const what =
    httpStatus === undefined ? 'The connection to the API failed' : `${wordsFor(error)} (${httpStatus})`
  const which =
    attempt === undefined ? 'trying again' : `retry ${attempt}${maxRetries ? ` of ${maxRetries}` : ''}`
  const when = delayMs === undefined ? '' : ` in ${(delayMs / 1000).toFixed(1)} s`
  return [
    status(state, 'retrying', {
      message: `${what}, ${which}${when}`,
      level: 'warn',
      data: { attempt, maxRetries, delayMs, apiStatus: httpStatus, error },
    }),
  ]
}

/** `allowed` comes with every answer; it is a line only after a warning, or while extra usage is spent. */
export function translateRateLimit(state: TranslatorState, event: ClaudeRateLimitEvent): UIEvent[] {
  const info = asObject(event.rate_limit_info)
  if (!info) return [unknownOfClaude(state, 'rate_limit_event', event)]
  const level = RATE_LEVELS.get(info.status)
  const plain = info.status === 'allowed' && info.isUsingOverage !== true && !state.rateLimitWarned
  state.rateLimitWarned = info.status !== 'allowed'
  const limits = limitsIfNew(state, planWindows(info))
  if (plain) return limits
  return [
    ...limits,
    status(state, 'rate_limited', {
      message: describeLimit(info),
      level: level ?? 'warn',
      data: { ...info },
    }),
  ]
}

const RATE_LEVELS: ReadonlyMap<unknown, StatusEvent['level']> = new Map([
  ['allowed', 'info'],
  ['allowed_warning', 'warn'],
  ['rejected', 'error'],
] as const)

/** Later releases list every window of the plan; earlier ones name the one that is the fullest. */
function planWindows(info: JsonObject): PlanWindow[] {
  const all = Object.entries(asObject(info.unifiedWindows) ?? {})
  const named = asText(info.rateLimitType)
  const windows = all.length > 0 ? all : named === undefined ? [] : [[named, info] as const]
  return windows.flatMap(([type, value]) => {
    const window = asObject(value)
    if (window === undefined) return []
    const { name, minutes } = WINDOWS.get(type) ?? { name: type.replaceAll('_', ' '), minutes: undefined }
    const used = asNumber(window.utilization)
    const usedPercent = used !== undefined ? percent(used) : window.status === 'rejected' ? 100 : undefined
    return [present({ name, minutes, usedPercent, resetsAt: isoTime(window.resetsAt) })]
  })
}

/** A share that no plan has is capped: its percentage would not be a finite number. */
function percent(share: number): number {
  return Math.max(0, Math.round(Math.min(share, MAX_SHARE) * 1000) / 10)
}

const MAX_SHARE = 1000

const WEEK_MINUTES = 7 * 24 * 60

const WINDOWS: ReadonlyMap<string, { name: string; minutes: number | undefined }> = new Map([
  ['five_hour', { name: '5 hours', minutes: 300 }],
  ['seven_day', { name: 'week', minutes: WEEK_MINUTES }],
  ['seven_day_opus', { name: 'week, Opus', minutes: WEEK_MINUTES }],
  ['seven_day_sonnet', { name: 'week, Sonnet', minutes: WEEK_MINUTES }],
  ['overage', { name: 'extra usage', minutes: undefined }],
])

function describeLimit(info: JsonObject): string {
  const window = asText(info.rateLimitType)?.replaceAll('_', ' ')
  const limit = window ? `${window} limit` : 'usage limit'
  const used = asNumber(info.utilization)
  const resets = isoTime(info.resetsAt)
  const until = resets ? `, resets at ${resets}` : ''
  if (info.status === 'rejected') return `The ${limit} is reached${until}`
  if (info.status === 'allowed') {
    return info.isUsingOverage === true
      ? `Beyond the ${limit}: extra usage is being spent${until}`
      : `Below the ${limit} again`
  }
  return used === undefined
    ? `Close to the ${limit}${until}`
    : `${Math.round(used * 100)} % of the ${limit} used${until}`
}

function wordsFor(error: string | undefined): string {
  return ERROR_WORDS.get(error ?? '') ?? 'API error'
}

const ERROR_WORDS: ReadonlyMap<string, string> = new Map([
  ['authentication_failed', 'Not authenticated'],
  ['overloaded', 'Overloaded'],
  ['rate_limit', 'Rate limited'],
  ['server_error', 'Server error'],
])
