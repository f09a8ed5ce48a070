import type { Failure, Reply } from './answer.ts'

/** One of the APIs: how it says an answer. */
export interface WireFormat {
  /** The frames of a streamed answer, in order. */
  frames(reply: Reply, context: ReplyContext): Iterable<Frame>
  /** The body of an answer that is not streamed. */
  body(reply: Reply, context: ReplyContext): unknown
  /** The frame that ends a stream which began well. */
  errorFrame(error: StreamError, context: ReplyContext): string
  errorBody(failure: Pick<Failure, 'status' | 'type' | 'message'>, requestId: string): unknown
}

export interface Frame {
  /** A `delta` carries content: it is what scripts count, delay, stall and cut on. `close` frames end the answer. */
  kind: 'open' | 'delta' | 'close'
  sse: string
}

export interface StreamError {
  type?: string
  message?: string
}

export interface ReplyContext {
  model: string
  requestId: string
  /** Base of the answer's ids; unique in a conversation. */
  id: string
}

export function frame(kind: Frame['kind'], event: { type: string; [key: string]: unknown }): Frame {
  return { kind, sse: sseFrame(event) }
}

export function sseFrame(event: { type: string; [key: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
