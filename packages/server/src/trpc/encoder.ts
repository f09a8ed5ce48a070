import { JsonEvents } from '@chirality/centre'
import { type Encoder, jsonEncoder } from '@trpc/server/adapters/ws'

export interface EncoderLimits {
  maxBatch: number
  /** False refuses the message. */
  takeRate: (calls: number) => boolean
}

/** tRPC's JSON, with limits for the input, and with events as text of the log. */
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

interface DataMessage {
  id?: unknown
  result?: { type?: unknown; id?: unknown; data?: { id?: unknown; data?: unknown } }
}

function encodeEvents(message: unknown): string | undefined {
  const { id, result } = message as DataMessage
  const events = result?.type === 'data' ? result.data?.data : undefined
  if (!(events instanceof JsonEvents)) return undefined
  const eventId = JSON.stringify(result?.id)
  const data = `{"id":${eventId},"data":[${events.text}]}`
  return `{"id":${JSON.stringify(id)},"result":{"type":"data","id":${eventId},"data":${data}}}`
}
