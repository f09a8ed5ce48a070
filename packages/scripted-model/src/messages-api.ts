import type { Block, Reply } from './answer.ts'
import { chunksOf, wholeText } from './chunks.ts'
import { type Frame, type ReplyContext, sseFrame, type WireFormat } from './wire-format.ts'

/** The Anthropic Messages API. */
export const messagesApi: WireFormat = {
  *frames(reply, context) {
    yield open({
      type: 'message_start',
      message: { ...envelope(reply, context), content: [], stop_reason: null, usage: usageOf(reply, 1) },
    })
    yield open({ type: 'ping' })
    for (const [index, block] of reply.blocks.entries()) yield* blockFrames(block, index, { reply, context })
    const delta = { stop_reason: reply.stopReason, stop_sequence: null }
    yield close({ type: 'message_delta', delta, usage: usageOf(reply, reply.usage.output) })
    yield close({ type: 'message_stop' })
  },

  body(reply, context) {
    return {
      ...envelope(reply, context),
      content: reply.blocks.map((block, index) => wholeBlock(block, index, context)),
      stop_reason: reply.stopReason,
      usage: usageOf(reply, reply.usage.output),
    }
  },

  errorFrame({ type = 'overloaded_error', message = 'Overloaded' }, { requestId }) {
    return sseFrame({ type: 'error', error: { type, message }, request_id: requestId })
  },

  errorBody({ status, type, message }, requestId) {
    const standard = STANDARD_ERRORS[status] ?? (status < 500 ? STANDARD_ERRORS[400] : STANDARD_ERRORS[500])
    return {
      type: 'error',
      error: { type: type ?? standard?.type, message: message ?? standard?.message },
      request_id: requestId,
    }
  },
}

const STANDARD_ERRORS: Record<number, { type: string; message: string }> = {
  400: { type: 'invalid_request_error', message: 'The request is not valid.' },
  401: { type: 'authentication_error', message: 'invalid x-api-key' },
  402: { type: 'billing_error', message: 'There is a problem with the billing of this organization.' },
  403: {
    type: 'permission_error',
    message: 'Your API key does not have permission to use the specified resource.',
  },
  404: { type: 'not_found_error', message: 'The requested resource could not be found.' },
  413: { type: 'request_too_large', message: 'Request exceeds the maximum size' },
  429: {
    type: 'rate_limit_error',
    message: 'This request would exceed the rate limit of your organization.',
  },
  500: { type: 'api_error', message: 'Internal server error' },
  504: { type: 'timeout_error', message: 'The request timed out.' },
  529: { type: 'overloaded_error', message: 'Overloaded' },
}

interface BlockContext {
  reply: Reply
  context: ReplyContext
}

function* blockFrames(block: Block, index: number, { reply, context }: BlockContext): Generator<Frame> {
  const whole = wholeBlock(block, index, context)
  yield open({ type: 'content_block_start', index, content_block: { ...whole, ...emptyContent(block) } })
  for (const delta of deltasOf(block, reply.chunkChars)) {
    yield { kind: 'delta', sse: sseFrame({ type: 'content_block_delta', index, delta }) }
  }
  yield open({ type: 'content_block_stop', index })
}

function* deltasOf(block: Block, chunkChars: Reply['chunkChars']): Generator<Record<string, string>> {
  switch (block.type) {
    case 'text':
      for (const text of chunksOf(wholeText(block.text), chunkChars)) yield { type: 'text_delta', text }
      return
    case 'thinking':
      for (const thinking of chunksOf(wholeText(block.thinking), chunkChars))
        yield { type: 'thinking_delta', thinking }
      yield { type: 'signature_delta', signature: block.signature }
      return
    case 'tool': {
      const json = typeof block.input === 'string' ? block.input : JSON.stringify(block.input)
      for (const partial_json of chunksOf(json, chunkChars)) yield { type: 'input_json_delta', partial_json }
      return
    }
    case 'raw':
  }
}

/** What `content_block_start` says instead of the content that the deltas bring. */
function emptyContent(block: Block): Record<string, unknown> {
  if (block.type === 'text') return { text: '' }
  if (block.type === 'thinking') return { thinking: '', signature: '' }
  return block.type === 'tool' ? { input: {} } : {}
}

function wholeBlock(block: Block, index: number, { idSuffix }: ReplyContext): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: wholeText(block.text) }
    case 'thinking':
      return { type: 'thinking', thinking: wholeText(block.thinking), signature: block.signature }
    case 'tool':
      return {
        type: 'tool_use',
        id: block.id ?? `toolu_${idSuffix}_${index}`,
        name: block.name,
        input: block.input,
      }
    case 'raw':
      return block.raw
  }
}

function envelope(_reply: Reply, { model, idSuffix }: ReplyContext) {
  return { id: `msg_${idSuffix}`, type: 'message', role: 'assistant', model, stop_sequence: null }
}

function usageOf({ usage }: Reply, outputTokens: number) {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: outputTokens,
  }
}

function open(event: { type: string; [key: string]: unknown }): Frame {
  return { kind: 'open', sse: sseFrame(event) }
}

function close(event: { type: string; [key: string]: unknown }): Frame {
  return { kind: 'close', sse: sseFrame(event) }
}
