import type { LimitsEvent, PlanWindow, StatusEvent, StatusKind, UIEvent } from '../events/ui-event.ts'
import { asNumber } from '../native/loose.ts'
import type { NdjsonRecord } from '../ndjson/ndjson-framer.ts'

export interface Translator {
  translateRecord(record: NdjsonRecord): UIEvent[]
  end(): UIEvent[]
}

export interface TranslatorOptions {
  sessionId: string
}

/** The translators of an agent, by the id of the harness whose spools they read. */
export type HarnessTranslators = Readonly<Record<string, (options: TranslatorOptions) => Translator>>

export interface StatusDetails {
  message: string
  level?: StatusEvent['level']
  toolUseId?: string | undefined
  parentToolUseId?: string | undefined
  data?: Record<string, unknown>
}

export function status(state: { sessionId: string }, kind: StatusKind, details: StatusDetails): StatusEvent {
  const { message, level = 'info', toolUseId, parentToolUseId, data } = details
  return present({
    type: 'status',
    sessionId: state.sessionId,
    status: kind,
    message,
    level,
    toolUseId,
    parentToolUseId,
    data: data && present(data),
  })
}

/** Removes undefined fields, so that an event is the same before and after it was stored in a log. */
export function present<T extends object>(fields: T): T {
  const kept: Partial<T> = {}
  for (const key in fields) if (fields[key] !== undefined) kept[key] = fields[key]
  return kept as T
}

const HEADLINE_CHARS = 200

/** One line for a text that may be pages long. */
export function headline(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.length > HEADLINE_CHARS ? `${line.slice(0, HEADLINE_CHARS)}…` : line
}

const MAX_DATE_S = 8.64e12

/** Undefined for a value that is no valid time. */
export function isoTime(seconds: unknown): string | undefined {
  const value = asNumber(seconds)
  return value === undefined || Math.abs(value) > MAX_DATE_S
    ? undefined
    : new Date(value * 1000).toISOString()
}

/** Agents repeat their limits with every answer. */
export function limitsIfNew(
  state: { readonly sessionId: string; toldLimits: string },
  windows: PlanWindow[],
): LimitsEvent[] {
  const told = JSON.stringify(windows)
  if (windows.length === 0 || told === state.toldLimits) return []
  state.toldLimits = told
  return [{ type: 'limits', sessionId: state.sessionId, windows }]
}

/** The result of a call that was still open when its turn ended. */
export const CUT_OFF = 'No result: the turn ended before this was over.'

/** Of one text, or one input of a tool. As JSON it can take six times as many, and no string has more than 2^29. */
export const MAX_TEXT_CHARS = 64 * 1024 * 1024

/** Emitted once, in place of everything after the limit. */
export function tooLong(sessionId: string, parentToolUseId?: string): StatusEvent {
  const message = `The agent writes more than ${MAX_TEXT_CHARS / 1024 / 1024} million characters in one piece. The rest of it is in the raw log only.`
  const data = { kind: 'text_too_long', maxChars: MAX_TEXT_CHARS }
  const where = parentToolUseId === undefined ? {} : { parentToolUseId }
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data, ...where }
}
