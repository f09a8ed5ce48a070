import type { Envelope } from '@chirality/core'
import type { NativeLine } from '../../state/server/answers.ts'

/** What stands in one row, whichever side it is on. */
export interface RawItem {
  key: string
  turnId: string | null
  type: string
  summary: string
  /** All of it, for the filter. */
  text: string
}

export interface EventItem extends RawItem {
  envelope: Envelope
}

export interface LineItem extends RawItem {
  line: NativeLine
  /** Undefined when the line is no JSON, or not all of it is here. */
  value: unknown
}

export function eventItem(envelope: Envelope): EventItem {
  const { type, sessionId: _sessionId, ...rest } = envelope.event
  const text = JSON.stringify(envelope.event)
  const summary = JSON.stringify(rest).slice(0, MAX_SUMMARY_CHARS)
  return { key: `${envelope.seq}`, turnId: envelope.turnId, type, summary, text, envelope }
}

export function lineItem(line: NativeLine): LineItem {
  const { id: key, turnId, text } = line
  const value = parse(line)
  return {
    key,
    turnId,
    text,
    line,
    value,
    type: nativeType(line, value),
    summary: summaryOf(line, value),
  }
}

const MAX_SUMMARY_CHARS = 200

function parse({ text, cut }: NativeLine): unknown {
  if (cut) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** As its agent names it: `assistant`, `stream_event/content_block_delta`, `item/completed` … */
function nativeType({ text, cut, torn }: NativeLine, value: unknown): string {
  if (isObject(value)) {
    const { method, type, subtype, event, id } = value
    if (isText(method)) return method
    const inner = isObject(event) && isText(event.type) ? event.type : subtype
    if (isText(type)) return isText(inner) ? `${type}/${inner}` : type
    return id === undefined ? 'object' : 'response'
  }
  const named = cut || torn ? /^\{"(?:type|method)":"([\w/:.-]{1,60})"/.exec(text)?.[1] : undefined
  return named ?? 'text'
}

/** Without what the type says already, and what every line of the agent repeats. */
function summaryOf({ text }: NativeLine, value: unknown): string {
  if (!isObject(value)) return text.slice(0, MAX_SUMMARY_CHARS)
  const { method: _method, type: _type, subtype: _subtype, session_id: _id, uuid: _uuid, ...rest } = value
  const payload = rest.params ?? (isText(value.type) ? rest.event : undefined) ?? rest
  return JSON.stringify(payload).slice(0, MAX_SUMMARY_CHARS)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
