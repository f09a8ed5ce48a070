import type { Envelope, UIEvent } from '@chirality/core'
import type { SessionLog } from '@chirality/sessions'

export type ExportFormat = 'ndjson' | 'markdown'

export interface ExportPage {
  text: string
  /** The cursor for the next part; null when this was the last. */
  next: number | null
}

/** A part of a session's history as text. */
export function exportPage(
  log: Pick<SessionLog, 'lastSeq' | 'readAfter'>,
  format: ExportFormat,
  after: number,
): ExportPage {
  const envelopes = log.readAfter(after, MAX_EVENTS, { maxBytes: MAX_BYTES })
  const text = envelopes.map(format === 'ndjson' ? toLine : toMarkdown).join('')
  const last = envelopes.at(-1)?.seq
  return { text, next: last === undefined || last >= log.lastSeq ? null : last }
}

const MAX_EVENTS = 20_000
const MAX_BYTES = 4 * 1024 * 1024

function toLine(envelope: Envelope): string {
  return `${JSON.stringify(envelope)}\n`
}

/** What was said and done; pieces that a whole text follows are left out. */
function toMarkdown({ event, at }: Envelope): string {
  switch (event.type) {
    case 'turn:start':
      return `## ${at}\n\n${quote(event.message)}\n\n`
    case 'chat:message':
      return event.discarded ? '' : `${event.text}\n\n`
    case 'tool:start':
    case 'tool:input':
      return event.input === undefined || Object.keys(event.input).length === 0 ? '' : toolText(event)
    case 'tool:result':
      return `${fence(event.content, event.isError ? 'error' : '')}\n\n`
    case 'session:error':
      return `**Error:** ${event.error}\n\n`
    case 'turn:end':
      return event.reason === 'completed' ? '' : `*The turn ended: ${event.reason}.*\n\n`
    default:
      return ''
  }
}

function toolText(event: Extract<UIEvent, { type: 'tool:start' | 'tool:input' }>): string {
  const name = event.type === 'tool:start' ? event.name : 'Tool'
  return `**${name}**\n\n${fence(JSON.stringify(event.input, null, 2), 'json')}\n\n`
}

function quote(text: string): string {
  return text
    .split('\n')
    .map(line => `> ${line}`)
    .join('\n')
}

/** Longer than any row of backticks inside. */
function fence(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(row => row.length))
  const ticks = '`'.repeat(longest + 1)
  return `${ticks}${language}\n${text}\n${ticks}`
}
