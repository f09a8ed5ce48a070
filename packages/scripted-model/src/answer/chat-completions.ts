import type { Block, Reply } from './answer.ts'
import { chunksOf, wholeText } from './chunks.ts'
import { responsesApi } from './responses-api.ts'
import type { Frame, ReplyContext, WireFormat } from './wire-format.ts'

/** The OpenAI Chat Completions API, which most other agents and model servers speak. */
export const chatCompletions: WireFormat = {
  *frames(reply, context) {
    yield frame('open', chunkOf(context, { role: 'assistant', content: '' }))
    let calls = 0
    for (const [index, block] of reply.blocks.entries()) {
      const call = block.type === 'tool' ? calls++ : 0
      if (block.type === 'tool')
        yield frame(
          'open',
          chunkOf(context, { tool_calls: [openCall(block, call, callId(block, index, context))] }),
        )
      for (const delta of deltasOf(block, call, reply.chunkChars))
        yield frame('delta', chunkOf(context, delta))
    }
    yield frame('close', chunkOf(context, {}, finishReason(reply)))
    // Sent without being asked for by `stream_options`: clients that do not want it pass over it.
    yield frame('close', { ...chunkOf(context, {}), choices: [], usage: usageOf(reply) })
    yield { kind: 'close', sse: 'data: [DONE]\n\n' }
  },

  body(reply, context) {
    const texts = (type: 'text' | 'thinking') =>
      reply.blocks.flatMap(block =>
        block.type !== type ? [] : [wholeText(block.type === 'text' ? block.text : block.thinking)],
      )
    const calls = reply.blocks.flatMap((block, index) =>
      block.type !== 'tool'
        ? []
        : [{ id: callId(block, index, context), type: 'function', function: calledFunction(block) }],
    )
    const message = {
      role: 'assistant',
      content: texts('text').join('') || null,
      reasoning_content: texts('thinking').join('') || undefined,
      tool_calls: calls.length > 0 ? calls : undefined,
    }
    return {
      ...identity(context),
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finishReason(reply) }],
      usage: usageOf(reply),
    }
  },

  errorFrame({ type = 'server_error', message = 'The server is overloaded.' }) {
    return `data: ${JSON.stringify({ error: { type, message, param: null, code: null } })}\n\n`
  },

  errorBody: responsesApi.errorBody,
}

type Json = Record<string, unknown>
type ToolBlock = Extract<Block, { type: 'tool' }>

function frame(kind: Frame['kind'], data: Json): Frame {
  return { kind, sse: `data: ${JSON.stringify(data)}\n\n` }
}

function identity({ id, model }: ReplyContext): Json {
  return { id: `chatcmpl-${id}`, created: 0, model }
}

function chunkOf(context: ReplyContext, delta: Json, finish: string | null = null): Json {
  return {
    ...identity(context),
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
}

function callId({ id }: ToolBlock, index: number, context: ReplyContext): string {
  return id ?? `call_${context.id}_${index}`
}

function openCall({ name }: ToolBlock, index: number, id: string): Json {
  return { index, id, type: 'function', function: { name, arguments: '' } }
}

function calledFunction({ name, input }: ToolBlock): Json {
  return { name, arguments: inputText(input) }
}

function* deltasOf(block: Block, call: number, chunkChars: Reply['chunkChars']): Generator<Json> {
  switch (block.type) {
    case 'text':
      for (const content of chunksOf(wholeText(block.text), chunkChars)) yield { content }
      return
    case 'thinking':
      for (const text of chunksOf(wholeText(block.thinking), chunkChars)) yield { reasoning_content: text }
      return
    case 'tool':
      for (const piece of chunksOf(inputText(block.input), chunkChars))
        yield { tool_calls: [{ index: call, function: { arguments: piece } }] }
      return
    case 'raw':
      yield block.raw
  }
}

function inputText(input: ToolBlock['input']): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

function finishReason({ stopReason }: Reply): string {
  if (stopReason === 'tool_use') return 'tool_calls'
  return stopReason === 'max_tokens' ? 'length' : 'stop'
}

function usageOf({ usage: { input, output, cacheRead, reasoning } }: Reply): Json {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
