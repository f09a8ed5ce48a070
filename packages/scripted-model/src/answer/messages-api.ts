import type { Block, Reply } from './answer.ts'
import { chunksOf, wholeText } from './chunks.ts'
import { frame, type ReplyContext, sseFrame, type WireFormat } from './wire-format.ts'

/** The Anthropic Messages API. */
export const messagesApi: WireFormat = {
  *frames(reply, context) {
    const started = { ...reply, usage: { ...reply.usage, output: 1 } }
    const message = { ...messageOf(started, context), content: [], stop_reason: null }
    yield frame('open', { type: 'message_start', message })
    yield frame('open', { type: 'ping' })
    for (const [index, block] of reply.blocks.entries()) {
      yield frame('open', {
        type: 'content_block_start',
        index,
        content_block: openBlock(block, index, context),
      })
      for (const delta of deltasOf(block, reply.chunkChars)) {
        yield frame('delta', { type: 'content_block_delta', index, delta })
      }
      yield frame('open', { type: 'content_block_stop', index })
    }
    const delta = { stop_reason: reply.stopReason, stop_sequence: null }
    yield frame('close', { type: 'message_delta', delta, usage: usageOf(reply) })
    yield frame('close', { type: 'message_stop' })
  },

  body(reply, context) {
    const content = reply.blocks.map((block, index) => wholeBlock(block, index, context))
    return { ...messageOf(reply, context), content }
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

/** A block before its content has been streamed. */
function openBlock(block: Block, index: number, { id }: ReplyContext): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'tool':
      return { type: 'tool_use', id: block.id ?? `toolu_${id}_${index}`, name: block.name, input: {} }
    case 'raw':
      return block.raw
  }
}

function wholeBlock(block: Block, index: number, context: ReplyContext): Record<string, unknown> {
  const open = openBlock(block, index, context)
  switch (block.type) {
    case 'text':
      return { ...open, text: wholeText(block.text) }
    case 'thinking':
      return { ...open, thinking: wholeText(block.thinking), signature: block.signature }
    case 'tool':
      return { ...open, input: block.input }
    case 'raw':
      return open
  }
}

/** Keys in the order the API writes them. */
function messageOf(reply: Reply, { model, id }: ReplyContext) {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [] as unknown[],
    stop_reason: reply.stopReason,
    stop_sequence: null,
    usage: usageOf(reply),
  }
}

function usageOf({ usage }: Reply) {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: usage.output,
  }
}
