import type { StatusEvent } from '../events/ui-event.ts'

/** Of one text, or one input of a tool. As JSON it can take six times as many, and no string has more than 2^29. */
export const MAX_TEXT_CHARS = 64 * 1024 * 1024

/** Told once, in place of all that comes after the limit. */
export function tooLong(sessionId: string, parentToolUseId?: string): StatusEvent {
  const message = `The agent writes more than ${MAX_TEXT_CHARS / 1024 / 1024} million characters in one piece. The rest of it is in the raw log only.`
  const data = { kind: 'text_too_long', maxChars: MAX_TEXT_CHARS }
  const where = parentToolUseId === undefined ? {} : { parentToolUseId }
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data, ...where }
}
