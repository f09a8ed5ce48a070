import type { UsageInfo } from '@chirality/core'
import { type Answer, AnswerBuilder } from './answer.ts'
import { ApiError, connectionError, errorOfEvent, errorOfResponse } from './api-error.ts'
import { type Endpoint, messagesUrl, requestHeaders } from './endpoint.ts'
import type { ApiEvent, ContentBlock } from './messages.ts'
import { SseParser } from './sse-parser.ts'

export interface StreamOptions {
  endpoint: Endpoint
  /** JSON. */
  body: string
  signal: AbortSignal
  /** Each event as it came, also those that nobody knows. */
  onEvent?(event: ApiEvent): void
  /** A block is whole. */
  onBlock?(block: ContentBlock, answer: AnswerBuilder): void
  /** At the end of an answer that began, however it ended. */
  onUsage?(usage: UsageInfo, model: string): void
}

/** The answer broke off. What there is of it comes along, because a person may want to keep it. */
export class BrokenAnswer extends Error {
  readonly said: ContentBlock[]
  readonly answer: Answer

  constructor(builder: AnswerBuilder, cause: unknown) {
    super('The answer broke off.', { cause })
    this.name = 'BrokenAnswer'
    this.said = builder.saidSoFar()
    this.answer = builder.answer()
  }
}

/** One request, without trying again. Rejects with a BrokenAnswer whose cause is an ApiError or the signal's reason. */
export async function streamAnswer(options: StreamOptions): Promise<Answer> {
  const builder = new AnswerBuilder()
  try {
    await receive(options, builder)
    if (!builder.isStopped) throw connectionError(new Error('the stream ended before the answer did'))
    return builder.answer()
  } catch (error) {
    const { signal } = options
    const cause = signal.aborted ? signal.reason : error instanceof ApiError ? error : connectionError(error)
    throw new BrokenAnswer(builder, cause)
  } finally {
    if (builder.model !== '') options.onUsage?.(builder.usage, builder.model)
  }
}

async function receive(options: StreamOptions, builder: AnswerBuilder): Promise<void> {
  const { endpoint, body, signal } = options
  // A redirect would carry the key to another host.
  const response = await fetch(messagesUrl(endpoint), {
    method: 'POST',
    headers: requestHeaders(endpoint),
    body,
    signal,
    redirect: 'manual',
  })
  if (!response.ok) throw await errorOfResponse(response)
  checkStream(response)
  if (response.body === null) return
  const parser = new SseParser(data => take(data, options, builder))
  const reader = response.body.getReader()
  try {
    // Not until the connection closes: some gateways keep it open after the answer.
    while (!builder.isStopped) {
      const { done, value } = await reader.read()
      if (done) break
      parser.push(value)
    }
    parser.end()
  } finally {
    // Also when a handler threw: otherwise the connection stays.
    await reader.cancel().catch(() => {})
  }
}

/** An answer in one piece, or a page of a proxy, would look like a stream that broke and be asked for again and again. */
function checkStream({ status, headers }: Response): void {
  const kind = headers.get('content-type') ?? 'nothing'
  if (kind.includes('text/event-stream')) return
  throw new ApiError(`The API answered with ${kind} instead of a stream.`, { status, type: 'not_a_stream' })
}

function take(data: string, { onEvent, onBlock }: StreamOptions, builder: AnswerBuilder): void {
  const event = parseEvent(data)
  onEvent?.(event)
  if (event.type === 'error') throw errorOfEvent(event)
  const block = builder.add(event)
  if (block) onBlock?.(block, builder)
}

/** Something that is no event is passed on under a name of its own, to be seen and not to break anything. */
function parseEvent(data: string): ApiEvent {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string') {
      return value as ApiEvent
    }
  } catch {
    // Said below.
  }
  return { type: 'malformed', text: data.slice(0, MAX_MALFORMED_CHARS) }
}

const MAX_MALFORMED_CHARS = 1000
