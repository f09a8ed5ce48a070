import {
  type Check,
  checkOf,
  type Envelope,
  type EventOf,
  type NativeUnknownEvent,
  type TextRef,
  UI_EVENTS,
  type UIEvent,
  type UIEventType,
  USAGE_INFO,
  type UsageInfo,
} from '@chirality/core'

/** One line of the log. `seq` comes first, so that a line's position is known without parsing it. */
export function encodeLine(envelope: Envelope): string {
  const { seq, at, sessionId, turnId, event } = envelope
  return `{"seq":${seq},"at":"${at}"${idMembers(sessionId, turnId)},"event":${JSON.stringify(event)}}\n`
}

let lastIds = { sessionId: '', turnId: null as string | null, text: '' }

/** The same for all events of a turn, so it is serialised once. */
function idMembers(sessionId: string, turnId: string | null): string {
  if (sessionId !== lastIds.sessionId || turnId !== lastIds.turnId) {
    const text = `,"sessionId":${JSON.stringify(sessionId)},"turnId":${JSON.stringify(turnId)}`
    lastIds = { sessionId, turnId, text }
  }
  return lastIds.text
}

/**
 * The envelope in a line, if it is complete and belongs to the session. A text that the line only refers to is not
 * restored: `isStoredOnce` says so.
 */
export function decodeLine(line: Buffer, sessionId: string): Envelope | undefined {
  const value = parse(line)
  return isEnvelope(value) && value.sessionId === sessionId ? sound(value) : undefined
}

/** All envelopes of lines that are joined by commas, if each is complete and belongs to the session. */
export function decodeLines(text: string, sessionId: string): Envelope[] | undefined {
  const values = parse(`[${text}]`)
  if (!Array.isArray(values)) return undefined
  return values.every(value => isEnvelope(value) && value.sessionId === sessionId)
    ? values.map(sound)
    : undefined
}

function sound(envelope: Envelope): Envelope {
  const event = soundEvent(envelope.event, envelope.sessionId)
  return event === envelope.event ? envelope : { ...envelope, event }
}

/**
 * The `seq` of a line whose beginning and end look like an envelope; undefined for a line that has to be parsed. The
 * line is `bytes` from `start` on, with or without its newline; of a long line the beginning is enough.
 */
export function peekSeq(bytes: Uint8Array, start: number, lastByte: number): number | undefined {
  if (lastByte !== CLOSING_BRACE) return undefined
  for (let i = 0; i < PREFIX.length; i += 1) if (bytes[start + i] !== PREFIX[i]) return undefined
  let seq = 0
  for (let i = start + PREFIX.length; i < start + HEAD_BYTES; i += 1) {
    const digit = (bytes[i] ?? 0) - DIGIT_ZERO
    if (digit < 0 || digit > 9) {
      return bytes[i] === COMMA && seq > 0 && seq <= Number.MAX_SAFE_INTEGER ? seq : undefined
    }
    seq = seq * 10 + digit
  }
  return undefined
}

/** Long enough for the prefix, the largest `seq` and the comma. */
export const HEAD_BYTES = 32

/** The `seq` of a line that another program may have written, with other spacing or order. */
export function parseSeq(line: Buffer): number | undefined {
  const value = parse(line)
  return isEnvelope(value) ? value.seq : undefined
}

const PREFIX = Buffer.from('{"seq":')
const DIGIT_ZERO = 0x30
const COMMA = 0x2c
const CLOSING_BRACE = 0x7d

function parse(line: Buffer | string): unknown {
  try {
    return JSON.parse(line.toString())
  } catch {
    return undefined
  }
}

/** The turn and the type of event of a line that was never finished, if it got that far. */
export interface TornLine {
  turnId: string
  type: string
}

export function readTorn(start: string): TornLine | undefined {
  const [, turnId, type] = TORN_LINE.exec(start) ?? []
  return turnId === undefined || type === undefined ? undefined : { turnId, type }
}

const TORN_LINE =
  /^\{"seq":\d+,"at":"[^"]*","sessionId":"[^"]*","turnId":"([^"]*)","event":\{"type":"([a-z:_-]+)"/

export function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null) return false
  const { seq, at, sessionId, turnId, event } = value as Record<string, unknown>
  return (
    Number.isSafeInteger(seq) &&
    (seq as number) > 0 &&
    typeof at === 'string' &&
    typeof sessionId === 'string' &&
    (turnId === null || typeof turnId === 'string') &&
    typeof event === 'object' &&
    event !== null &&
    'type' in event &&
    typeof event.type === 'string'
  )
}

/**
 * The event of a line, or an event that reports it as damaged. Other programs can write to a log, and its readers rely
 * on an event's fields: a missing field, or one of another type, would make the session unreadable forever.
 */
function soundEvent(event: UIEvent, sessionId: string): UIEvent {
  const check = checkFor(event.type)
  // An event type of a later version, which readers skip.
  if (check === undefined) return event
  if (isStoredOnce(event)) return check({ ...event, text: '' }) ? event : damaged(event, sessionId)
  if (!check(event)) return damaged(event, sessionId)
  return 'textOf' in event ? withoutRef(event) : event
}

/** An event that has its text refers to no other: a reader that restores texts would take it for one that does. */
function withoutRef(event: UIEvent & { textOf?: unknown }): UIEvent {
  const { textOf: _, ...rest } = event
  return rest as UIEvent
}

/** Whether a value has the fields of an event of this type. */
export function isSound<T extends UIEventType>(type: T, value: unknown): value is EventOf<T> {
  const isOfType = typeof value === 'object' && value !== null && 'type' in value && value.type === type
  return isOfType && checkFor(type)?.(value) === true
}

/** Whether a value is a count of tokens. */
export function isUsage(value: unknown): value is UsageInfo {
  return USAGE(value)
}

/**
 * Stands in the log for a text that the lines `from` to `to` hold in pieces. Length and hash prove what a reader puts
 * together from them.
 */
export interface StoredTextRef extends TextRef {
  hash: string
}

/** An event as it is stored: without the field `text`, but with `textOf` in its place. */
export interface StoredOnce {
  type: 'chat:message' | 'chat:complete'
  textOf: StoredTextRef
}

/** Whether an event has to be restored before it is shown. A `text` that is there counts, whatever else is. */
export function isStoredOnce(event: object): event is StoredOnce {
  if (!('type' in event) || !('textOf' in event) || 'text' in event) return false
  return (event.type === 'chat:message' || event.type === 'chat:complete') && isRef(event.textOf)
}

function isRef(value: unknown): value is StoredTextRef {
  if (typeof value !== 'object' || value === null) return false
  const { messageId, parentToolUseId, from, to, chars, hash } = value as Record<string, unknown>
  return (
    typeof messageId === 'string' &&
    (parentToolUseId === undefined || typeof parentToolUseId === 'string') &&
    isCount(from) &&
    isCount(to) &&
    from <= to &&
    isCount(chars) &&
    typeof hash === 'string'
  )
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

function damaged(event: object, sessionId: string): NativeUnknownEvent {
  const { type } = event as { type?: unknown }
  return {
    type: 'native:unknown',
    sessionId,
    harness: 'log',
    nativeType: `damaged ${String(type)}`,
    raw: event,
  }
}

function checkFor(type: string): Check | undefined {
  return Object.hasOwn(CHECKS, type) ? CHECKS[type as UIEventType] : undefined
}

const CHECKS: Readonly<Partial<Record<UIEventType, Check>>> = Object.fromEntries(
  Object.entries(UI_EVENTS).map(([type, shape]) => [type, checkOf(shape)]),
)
const USAGE = checkOf(USAGE_INFO)
