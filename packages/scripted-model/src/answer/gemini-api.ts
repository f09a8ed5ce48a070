import type { Block, Reply } from './answer.ts'
import { chunksOf, wholeText } from './chunks.ts'
import type { Frame, ReplyContext, WireFormat } from './wire-format.ts'

/** Gemini's `generateContent` and `streamGenerateContent`. */
export const geminiApi: WireFormat = {
  *frames(reply, context) {
    for (const [index, block] of reply.blocks.entries())
      for (const part of deltasOf(block, index, { reply, context }))
        yield frame('delta', contentOf(context, [part]))
    yield frame('close', finished(reply, context, [{ text: '' }]))
  },

  body(reply, context) {
    const parts = reply.blocks.flatMap((block, index) => [
      ...deltasOf(block, index, { reply: { ...reply, chunkChars: 'all' }, context }),
    ])
    return finished(reply, context, parts)
  },

  errorFrame({ type = 'UNAVAILABLE', message = 'The model is overloaded.' }) {
    return `data: ${JSON.stringify({ error: { code: 503, status: type, message } })}\n\n`
  },

  errorBody({ status, type, message }) {
    const standard = STANDARD_ERRORS[status] ?? (status < 500 ? STANDARD_ERRORS[400] : STANDARD_ERRORS[500])
    return {
      error: { code: status, message: message ?? standard?.message, status: type ?? standard?.status },
    }
  },
}

const STANDARD_ERRORS: Record<number, { status: string; message: string }> = {
  400: { status: 'INVALID_ARGUMENT', message: 'The request is not valid.' },
  401: { status: 'UNAUTHENTICATED', message: 'The API key is not valid.' },
  403: { status: 'PERMISSION_DENIED', message: 'You have no access to this resource.' },
  404: { status: 'NOT_FOUND', message: 'The resource does not exist.' },
  429: { status: 'RESOURCE_EXHAUSTED', message: 'The quota is used up.' },
  500: { status: 'INTERNAL', message: 'Internal server error.' },
  503: { status: 'UNAVAILABLE', message: 'The model is overloaded.' },
}

type Json = Record<string, unknown>

function frame(kind: Frame['kind'], data: Json): Frame {
  return { kind, sse: `data: ${JSON.stringify(data)}\n\n` }
}

function* deltasOf(
  block: Block,
  index: number,
  { reply: { chunkChars }, context }: { reply: Pick<Reply, 'chunkChars'>; context: ReplyContext },
): Generator<Json> {
  switch (block.type) {
    case 'text':
      for (const text of chunksOf(wholeText(block.text), chunkChars)) yield { text }
      return
    case 'thinking':
      for (const text of chunksOf(wholeText(block.thinking), chunkChars)) yield { text, thought: true }
      return
    case 'tool':
      // Never in pieces: the API has no delta of arguments.
      yield {
        functionCall: {
          id: block.id ?? `call_${context.id}_${index}`,
          name: block.name,
          args: typeof block.input === 'string' ? { input: block.input } : block.input,
        },
      }
      return
    case 'raw':
      yield block.raw
  }
}

function contentOf({ model, id }: ReplyContext, parts: Json[], state: Json = {}): Json {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...state }],
    modelVersion: model,
    responseId: id,
  }
}

function finished(reply: Reply, context: ReplyContext, parts: Json[]): Json {
  const { input, output, cacheRead, reasoning } = reply.usage
  const finishReason = reply.stopReason === 'max_tokens' ? 'MAX_TOKENS' : 'STOP'
  return {
    ...contentOf(context, parts, { finishReason }),
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      cachedContentTokenCount: cacheRead,
      thoughtsTokenCount: reasoning,
      totalTokenCount: input + output + reasoning,
    },
  }
}
