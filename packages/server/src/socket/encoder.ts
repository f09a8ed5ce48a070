import type { Envelope } from '@chirality/core'
import { type Encoder, jsonEncoder } from '@trpc/server/adapters/ws'

export interface EncoderLimits {
  maxBatch: number
  /** False refuses the message. */
  takeRate: (calls: number) => boolean
}

/** tRPC's JSON, with limits on what comes in, and with each envelope written once however many read it. */
export function limitedEncoder({ maxBatch, takeRate }: EncoderLimits): Encoder {
  return {
    encode: data => encodeEvents(data) ?? jsonEncoder.encode(data),
    decode: data => {
      const message = jsonEncoder.decode(data)
      const calls = Array.isArray(message) ? message.length : 1
      if (calls > maxBatch) throw new RangeError(`At most ${maxBatch} calls in one message.`)
      if (!takeRate(calls)) throw new RangeError('Too many calls. Wait a moment.')
      return message
    },
  }
}

/** What `session.events` yields. Marked, because the encoder must not guess from the shape. */
export function eventBatch(envelopes: Envelope[]): Envelope[] {
  batches.add(envelopes)
  return envelopes
}

const batches = new WeakSet<object>()
const texts = new WeakMap<Envelope, string>()

interface DataMessage {
  id?: unknown
  result?: { type?: unknown; id?: unknown; data?: { id?: unknown; data?: unknown } }
}

function encodeEvents(message: unknown): string | undefined {
  const { id, result } = message as DataMessage
  const envelopes = result?.type === 'data' ? result.data?.data : undefined
  if (typeof envelopes !== 'object' || envelopes === null || !batches.has(envelopes)) return undefined
  const eventId = JSON.stringify(result?.id)
  const events = (envelopes as Envelope[]).map(envelopeText).join(',')
  return `{"id":${JSON.stringify(id)},"result":{"type":"data","id":${eventId},"data":{"id":${eventId},"data":[${events}]}}}`
}

/** Its JSON, made once. */
export function envelopeText(envelope: Envelope): string {
  const known = texts.get(envelope)
  if (known !== undefined) return known
  const text = JSON.stringify(envelope)
  texts.set(envelope, text)
  return text
}
