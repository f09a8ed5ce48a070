import type { Envelope } from '@chirality/core'
import type { FileOps } from '../../files/file-ops.ts'
import { readFully } from '../../files/read-write.ts'
import { decodeLine } from '../../log/envelope-line.ts'

export interface OpenText {
  /** The first piece that is left of it. */
  first: Envelope
  text: string
}

/**
 * The messages before `end` that were never finished, because their turn was stopped: only their pieces are in the log. Of
 * one that is very long, the last part.
 */
export function openTexts(log: { ops: FileOps; fd: number; sessionId: string }, end: number): OpenText[] {
  const start = Math.max(0, end - MAX_OPEN_BYTES)
  const bytes = readFully(log.ops, log.fd, { buffer: Buffer.allocUnsafe(end - start), position: start })
  const open = new Map<string, OpenText>()
  for (let from = 0, to = bytes.indexOf(NEWLINE); to >= 0; from = to + 1, to = bytes.indexOf(NEWLINE, from)) {
    const envelope = decodeLine(bytes.subarray(from, to), log.sessionId)
    if (envelope === undefined) continue
    const { event, turnId } = envelope
    if (event.type === 'turn:start') open.clear()
    else if (event.type === 'chat:message') open.delete(event.messageId)
    else if (event.type === 'chat:delta') {
      const id = event.messageId ?? `text-${turnId}`
      const before = open.get(id)
      if (before === undefined) open.set(id, { first: envelope, text: event.text })
      else before.text += event.text
    }
  }
  return [...open.values()]
}

const MAX_OPEN_BYTES = 256 * 1024
const NEWLINE = 0x0a
