import type { Block, Reply } from './answer.ts'
import { chunksOf, wholeText } from './chunks.ts'
import { type Frame, frame, type ReplyContext, sseFrame, type WireFormat } from './wire-format.ts'

/** The OpenAI Responses API. */
export const responsesApi: WireFormat = {
  *frames(reply, context) {
    const numbered = numberer()
    const started = responseOf(context, { status: 'in_progress', output: [], usage: null })
    yield numbered('open', { type: 'response.created', response: started })
    yield numbered('open', { type: 'response.in_progress', response: started })
    for (const [index, block] of reply.blocks.entries()) {
      for (const { kind, ...event } of itemEvents(block, { index, reply, context }))
        yield numbered(kind, event)
    }
    const type = reply.stopReason === 'max_tokens' ? 'response.incomplete' : 'response.completed'
    yield numbered('close', { type, response: finished(reply, context) })
  },

  body: finished,

  errorFrame({ type = 'server_is_overloaded', message = 'The server is overloaded.' }, context) {
    const error = { code: type, message }
    const response = { id: `resp_${context.id}`, object: 'response', status: 'failed', error }
    return sseFrame({ type: 'response.failed', response })
  },

  errorBody({ status, type, message }) {
    const standard = STANDARD_ERRORS[status] ?? (status < 500 ? STANDARD_ERRORS[400] : STANDARD_ERRORS[500])
    return {
      error: {
        message: message ?? standard?.message,
        type: type ?? standard?.type,
        param: null,
        code: standard?.code ?? null,
      },
    }
  },
}

const STANDARD_ERRORS: Record<number, { type: string; message: string; code?: string }> = {
  400: { type: 'invalid_request_error', message: 'The request is not valid.' },
  401: { type: 'invalid_request_error', message: 'Incorrect API key provided.', code: 'invalid_api_key' },
  403: { type: 'invalid_request_error', message: 'You do not have access to this resource.' },
  404: { type: 'invalid_request_error', message: 'The resource does not exist.', code: 'not_found' },
  413: { type: 'invalid_request_error', message: 'The request is too large.' },
  429: { type: 'requests', message: 'Rate limit reached.', code: 'rate_limit_exceeded' },
  500: { type: 'server_error', message: 'The server had an error while processing your request.' },
  503: { type: 'server_error', message: 'The server is overloaded.', code: 'server_is_overloaded' },
}

type Json = Record<string, unknown>
type ItemEvent = { kind: Frame['kind']; type: string; [key: string]: unknown }

interface ItemContext {
  index: number
  reply: Reply
  context: ReplyContext
}

function* itemEvents(block: Block, { index, reply, context }: ItemContext): Generator<ItemEvent> {
  const item = itemOf(block, index, context)
  const place = { item_id: item.id, output_index: index }
  yield { kind: 'open', type: 'response.output_item.added', output_index: index, item: openItem(block, item) }
  yield* contentEvents(block, place, reply.chunkChars)
  yield { kind: 'open', type: 'response.output_item.done', output_index: index, item }
}

function* contentEvents(block: Block, place: Json, chunkChars: Reply['chunkChars']): Generator<ItemEvent> {
  switch (block.type) {
    case 'text': {
      const text = wholeText(block.text)
      const at = { ...place, content_index: 0 }
      yield { kind: 'open', type: 'response.content_part.added', ...at, part: outputText('') }
      for (const delta of chunksOf(text, chunkChars)) {
        yield { kind: 'delta', type: 'response.output_text.delta', ...at, delta }
      }
      yield { kind: 'open', type: 'response.output_text.done', ...at, text }
      yield { kind: 'open', type: 'response.content_part.done', ...at, part: outputText(text) }
      return
    }
    case 'thinking': {
      const text = wholeText(block.thinking)
      const at = { ...place, summary_index: 0 }
      yield { kind: 'open', type: 'response.reasoning_summary_part.added', ...at, part: summaryText('') }
      for (const delta of chunksOf(text, chunkChars)) {
        yield { kind: 'delta', type: 'response.reasoning_summary_text.delta', ...at, delta }
      }
      yield { kind: 'open', type: 'response.reasoning_summary_text.done', ...at, text }
      yield { kind: 'open', type: 'response.reasoning_summary_part.done', ...at, part: summaryText(text) }
      return
    }
    case 'tool': {
      const [event, field] =
        typeof block.input === 'string'
          ? ['response.custom_tool_call_input', 'input']
          : ['response.function_call_arguments', 'arguments']
      const text = inputText(block.input)
      for (const delta of chunksOf(text, chunkChars)) {
        yield { kind: 'delta', type: `${event}.delta`, ...place, delta }
      }
      yield { kind: 'open', type: `${event}.done`, ...place, [field]: text }
      return
    }
    case 'raw':
  }
}

function itemOf(block: Block, index: number, { id }: ReplyContext): Json {
  const status = 'completed'
  switch (block.type) {
    case 'text': {
      const content = [outputText(wholeText(block.text))]
      return { id: `msg_${id}_${index}`, type: 'message', role: 'assistant', status, content }
    }
    case 'thinking': {
      const summary = [summaryText(wholeText(block.thinking))]
      return { id: `rs_${id}_${index}`, type: 'reasoning', summary, encrypted_content: block.signature }
    }
    case 'tool': {
      const { name, namespace, input } = block
      const call = { status, call_id: block.id ?? `call_${id}_${index}`, name, namespace }
      return typeof input === 'string'
        ? { id: `ctc_${id}_${index}`, type: 'custom_tool_call', ...call, input }
        : { id: `fc_${id}_${index}`, type: 'function_call', ...call, arguments: inputText(input) }
    }
    case 'raw':
      return block.raw
  }
}

/** An item before its content has been streamed. */
function openItem(block: Block, item: Json): Json {
  if (block.type === 'text') return { ...item, status: 'in_progress', content: [] }
  if (block.type === 'thinking') return { ...item, summary: [] }
  if (block.type === 'raw') return item
  return { ...item, status: 'in_progress', [typeof block.input === 'string' ? 'input' : 'arguments']: '' }
}

function finished(reply: Reply, context: ReplyContext): Json {
  const { input, output, cacheRead, cacheWrite, reasoning } = reply.usage
  const incomplete = reply.stopReason === 'max_tokens'
  return responseOf(context, {
    status: incomplete ? 'incomplete' : 'completed',
    incomplete_details: incomplete ? { reason: 'max_output_tokens' } : null,
    output: reply.blocks.map((block, index) => itemOf(block, index, context)),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  })
}

function responseOf({ model, id }: ReplyContext, state: Json): Json {
  return { id: `resp_${id}`, object: 'response', created_at: 0, model, error: null, ...state }
}

function outputText(text: string): Json {
  return { type: 'output_text', text, annotations: [] }
}

function summaryText(text: string): Json {
  return { type: 'summary_text', text }
}

function inputText(input: Json | string): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

/** Every event of a response carries its place in the stream. */
function numberer() {
  let sequence_number = 0
  return (kind: Frame['kind'], event: { type: string; [key: string]: unknown }): Frame =>
    frame(kind, { ...event, sequence_number: sequence_number++ })
}
