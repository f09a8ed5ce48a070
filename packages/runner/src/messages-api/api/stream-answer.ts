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
  /** Each event unchanged, including unknown ones. */
  onEvent?(event: ApiEvent): void
  onBlock?(block: ContentBlock, answer: AnswerBuilder): void
  /** Called when a started answer ends, for any reason. */
  onUsage?(usage: UsageInfo, model: string): void
}

/** The answer broke off. Carries the partial content, which the user may want to keep. */
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

/**
 * Sends one request, without retries. Rejects with a BrokenAnswer whose cause is an ApiError or the signal's reason.
 */
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
  // Redirects are refused: they would send the key to another host.
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
    // Stops at `message_stop`: some gateways keep the connection open after the answer.
    while (!builder.isStopped) {
      const { done, value } = await reader.read()
      if (done) break
      parser.push(value)
    }
    parser.end()
  } finally {
    // Also after a handler threw; otherwise the connection stays open.
    await reader.cancel().catch(() => {})
  }
}

/**
 * Without this check a non-streamed answer, or a proxy's page, would look like a broken stream and be retried
 * repeatedly.
 */
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

/** Data that is not an event gets a name of its own: it is recorded, and no reader fails on it. */
function parseEvent(data: string): ApiEvent {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string') {
      return value as ApiEvent
    }
  } catch {
    // Handled below.
  }
  return { type: 'malformed', text: data.slice(0, MAX_MALFORMED_CHARS) }
}

const MAX_MALFORMED_CHARS = 1000
