import type { Envelope } from '@chirality/core'
import { type Encoder, jsonEncoder } from '@trpc/server/adapters/ws'

export interface EncoderLimits {
  maxBatch: number
  /** False refuses the message. */
  takeRate: (calls: number) => boolean
}

/** tRPC's JSON, with limits on what comes in, and with each batch written once however many read it. */
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

/**
 * The JSON of a batch, without its brackets. Made once for an array: readers that keep up get the same one from the log, and
 * then share its text, too.
 */
export function batchText(envelopes: Envelope[]): string {
  const known = texts.get(envelopes)
  if (known !== undefined) return known
  const text = JSON.stringify(envelopes).slice(1, -1)
  texts.set(envelopes, text)
  return text
}

/** Batches as one, with the text that their texts make. */
export function joinBatches(batches: Envelope[][]): Envelope[] {
  const [first] = batches
  if (first !== undefined && batches.length === 1) return first
  const joined = batches.flat()
  texts.set(joined, batches.map(batchText).join(','))
  return joined
}

const texts = new WeakMap<object, string>()

interface DataMessage {
  id?: unknown
  result?: { type?: unknown; id?: unknown; data?: { id?: unknown; data?: unknown } }
}

/** Only for arrays that were made here: the encoder must not guess from the shape. */
function encodeEvents(message: unknown): string | undefined {
  const { id, result } = message as DataMessage
  const envelopes = result?.type === 'data' ? result.data?.data : undefined
  const text = typeof envelopes === 'object' && envelopes !== null ? texts.get(envelopes) : undefined
  if (text === undefined) return undefined
  const eventId = JSON.stringify(result?.id)
  return `{"id":${JSON.stringify(id)},"result":{"type":"data","id":${eventId},"data":{"id":${eventId},"data":[${text}]}}}`
}
