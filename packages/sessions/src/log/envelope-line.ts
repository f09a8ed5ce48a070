import type { Envelope } from '@chirality/core'
import { soundEvent } from './sound-event.ts'

/** One line of the log. `seq` comes first, so that a line can be placed without parsing it. */
export function encodeLine(envelope: Envelope): string {
  const { seq, at, sessionId, turnId, event } = envelope
  return `{"seq":${seq},"at":"${at}"${idMembers(sessionId, turnId)},"event":${JSON.stringify(event)}}\n`
}

let lastIds = { sessionId: '', turnId: null as string | null, text: '' }

/** The same for all events of a turn, so it is not written out for each. */
function idMembers(sessionId: string, turnId: string | null): string {
  if (sessionId !== lastIds.sessionId || turnId !== lastIds.turnId) {
    const text = `,"sessionId":${JSON.stringify(sessionId)},"turnId":${JSON.stringify(turnId)}`
    lastIds = { sessionId, turnId, text }
  }
  return lastIds.text
}

/** The envelope in a line, if it is whole and belongs to the session. */
export function decodeLine(line: Buffer, sessionId: string): Envelope | undefined {
  const value = parse(line)
  return isEnvelope(value) && value.sessionId === sessionId ? sound(value) : undefined
}

/** All envelopes of lines that are joined by commas, if every one is whole and belongs to the session. */
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
 * The `seq` of a line that looks like an envelope by its ends; undefined for one that has to be parsed. The line is
 * `bytes` from `start` on, with its newline or without; of a long one the beginning is enough.
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

/** The `seq` of a line that somebody else may have written, with other spacing or another order. */
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
