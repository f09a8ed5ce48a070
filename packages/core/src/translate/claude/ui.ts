import type { NativeUnknownEvent, StatusEvent, StatusKind } from '../../events/ui-event.ts'
import type { TranslatorState } from './state.ts'

export const HARNESS_ID = 'claude-code'

export interface StatusDetails {
  message: string
  level?: StatusEvent['level']
  toolUseId?: string | undefined
  parentToolUseId?: string | undefined
  data?: Record<string, unknown>
}

export function status(state: TranslatorState, kind: StatusKind, details: StatusDetails): StatusEvent {
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

export function unknown(state: TranslatorState, nativeType: string, raw: unknown): NativeUnknownEvent {
  return { type: 'native:unknown', sessionId: state.sessionId, harness: state.harness, nativeType, raw }
}

/** Without the fields that are undefined, so that an event reads the same before and after its way through a log. */
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
