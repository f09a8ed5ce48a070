import type { Envelope, UIEvent } from '@chirality/core'
import { isSecretField } from '@chirality/core'
import { REDACTED, type Redactor } from '../../harness-log/redact.ts'
import type { SessionLogReader } from '../../log/read-log.ts'
import { batchesOfLog } from '../../store/fork-log.ts'
import type { StoredSession } from '../../store/stored-session.ts'

/**
 * A redacted log as a stream. A streamed secret is spread over several events, none of which shows it. So the log is
 * read twice, and a text that contains a secret is written completely in place of its first piece.
 */
export async function* redactedLog(log: SessionLogReader, redact: Redactor): AsyncGenerator<Envelope[]> {
  const spoilt = await findSpoilt(log, redact)
  for await (const batch of batchesOfLog(log, log.lastSeq)) {
    yield batch.map(envelope => {
      const piece = pieceOf(envelope)
      const whole = piece && spoilt.get(piece.key)
      if (piece === undefined || whole === undefined) return redactValue(envelope, redact) as Envelope
      spoilt.set(piece.key, '')
      return { ...envelope, event: withText(envelope.event, whole) }
    })
  }
}

/** The redacted streamed texts that contain a secret, by key. */
async function findSpoilt(log: SessionLogReader, redact: Redactor): Promise<Map<string, string>> {
  const spoilt = new Map<string, string>()
  let open = new Map<string, string[]>()
  const close = () => {
    for (const [key, parts] of open) {
      const text = parts.join('')
      const clean = redact(text)
      if (clean !== text) spoilt.set(key, clean)
    }
    open = new Map()
  }
  for await (const batch of batchesOfLog(log, log.lastSeq)) {
    for (const envelope of batch) {
      const piece = pieceOf(envelope)
      if (piece === undefined) {
        if (envelope.event.type === 'turn:end') close()
        continue
      }
      const parts = open.get(piece.key)
      if (parts === undefined) open.set(piece.key, [piece.text])
      else parts.push(piece.text)
    }
  }
  close()
  return spoilt
}

function pieceOf({ event, turnId }: Envelope): { key: string; text: string } | undefined {
  switch (event.type) {
    case 'chat:delta':
      return { key: `text ${turnId} ${event.messageId}`, text: event.text }
    case 'chat:thinking':
      return event.final ? undefined : { key: `thinking ${turnId} ${event.messageId}`, text: event.text }
    case 'tool:input':
      return event.delta === undefined
        ? undefined
        : { key: `input ${turnId} ${event.toolUseId}`, text: event.delta }
    default:
      return undefined
  }
}

function withText(event: UIEvent, text: string): UIEvent {
  if (event.type === 'chat:delta' || event.type === 'chat:thinking') return { ...event, text }
  return event.type === 'tool:input' && event.delta !== undefined ? { ...event, delta: text } : event
}

export interface SessionContents {
  session: StoredSession
  batches: AsyncIterable<readonly Envelope[]>
}

/** Redacts all texts of a value, and the fields that are named like a secret. */
export function redactValue(value: unknown, redact: Redactor, depth = 0): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return TOO_DEEP
  if (Array.isArray(value)) return value.map(item => redactValue(item, redact, depth + 1))
  const entries = Object.entries(value).map(([name, field]) => {
    const isSecret = typeof field === 'string' && isSecretField(name)
    return [redact(name), isSecret ? REDACTED : redactValue(field, redact, depth + 1)]
  })
  return Object.fromEntries(entries)
}

/** An agent's own events can have any depth. */
const MAX_DEPTH = 200
const TOO_DEEP = '[nested too deep]'
