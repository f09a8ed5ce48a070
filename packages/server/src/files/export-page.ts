import type { SessionLog } from '@chirality/sessions'

export interface ExportPage {
  text: string
  /** The cursor for the next part; null when this was the last. */
  next: number | null
}

/** A part of a session's events, one envelope a line. */
export function exportPage(log: Pick<SessionLog, 'lastSeq' | 'readAfter'>, after: number): ExportPage {
  const envelopes = log.readAfter(after, MAX_EVENTS, { maxBytes: MAX_BYTES })
  const text = envelopes.map(envelope => `${JSON.stringify(envelope)}\n`).join('')
  const last = envelopes.at(-1)?.seq
  return { text, next: last === undefined || last >= log.lastSeq ? null : last }
}

const MAX_EVENTS = 20_000
const MAX_BYTES = 4 * 1024 * 1024
