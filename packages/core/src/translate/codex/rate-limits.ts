import type { StatusEvent, UIEvent } from '../../events/ui-event.ts'
import { asNumber, asObject, asText, type JsonObject } from '../../native/loose.ts'
import type { CodexState } from './state.ts'
import { status } from './ui.ts'

const NEARLY_PERCENT = 90

/** Comes with every answer; it is news when a limit comes near, is reached, or is far again. */
export function translateRateLimits(state: CodexState, params: JsonObject): UIEvent[] {
  const limits = asObject(params.rateLimits)
  const window = limits && fullestWindow(limits)
  const reached = asText(limits?.rateLimitReachedType)
  if (!limits || (!window && !reached)) return []
  const used = window?.usedPercent ?? 100
  const level = reached || used >= 100 ? 'error' : used >= NEARLY_PERCENT ? 'warn' : 'info'
  if (level === state.rateLevel) return []
  state.rateLevel = level
  return [status(state, 'rate_limited', { message: describe(level, window), level, data: { ...limits } })]
}

interface Window {
  usedPercent: number
  hours: number | undefined
  resetsAt: string | undefined
}

function fullestWindow(limits: JsonObject): Window | undefined {
  const windows = [limits.primary, limits.secondary].flatMap(value => readWindow(asObject(value)) ?? [])
  return windows.sort((a, b) => b.usedPercent - a.usedPercent)[0]
}

function readWindow(value: JsonObject | undefined): Window | undefined {
  const usedPercent = asNumber(value?.usedPercent)
  if (usedPercent === undefined) return undefined
  const minutes = asNumber(value?.windowDurationMins)
  return { usedPercent, hours: minutes && Math.round(minutes / 60), resetsAt: isoTime(value?.resetsAt) }
}

function describe(level: StatusEvent['level'], window: Window | undefined): string {
  const limit = window?.hours ? `${window.hours} h usage limit` : 'usage limit'
  const until = window?.resetsAt ? `, resets at ${window.resetsAt}` : ''
  if (level === 'error') return `The ${limit} is reached${until}`
  if (level === 'info') return `Below the ${limit} again`
  return `${Math.round(window?.usedPercent ?? NEARLY_PERCENT)} % of the ${limit} used${until}`
}

const MAX_DATE_S = 8.64e12

function isoTime(seconds: unknown): string | undefined {
  const value = asNumber(seconds)
  return value === undefined || Math.abs(value) > MAX_DATE_S
    ? undefined
    : new Date(value * 1000).toISOString()
}
