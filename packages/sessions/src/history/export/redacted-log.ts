import type { Envelope, UIEvent } from '@chirality/core'
import type { Redactor } from '../../harness-log/redact.ts'
import type { SessionLogReader } from '../../log/read-log.ts'
import { batchesOf } from '../../store/fork-log.ts'
import { redactValue } from './redact-value.ts'

/**
 * A log without its secrets, a piece at a time. A secret that was streamed is spread over several events, none of which shows
 * it; so the log is read twice, and a text whose whole has a secret is given whole, by its first piece.
 */
export async function* redactedLog(log: SessionLogReader, redact: Redactor): AsyncGenerator<Envelope[]> {
  const spoilt = await findSpoilt(log, redact)
  for await (const batch of batchesOf(log, log.lastSeq)) {
    yield batch.map(envelope => {
      const piece = pieceOf(envelope)
      const whole = piece && spoilt.get(piece.key)
      if (piece === undefined || whole === undefined) return redactValue(envelope, redact) as Envelope
      spoilt.set(piece.key, '')
      return { ...envelope, event: withText(envelope.event, whole) }
    })
  }
}

/** The streamed texts that have a secret in them, by their key, without it. */
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
  for await (const batch of batchesOf(log, log.lastSeq)) {
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
