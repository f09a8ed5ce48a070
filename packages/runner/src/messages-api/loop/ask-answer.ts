import type { Answer } from '../api/answer.ts'
import { ApiError } from '../api/api-error.ts'
import type { ContentBlock, Message } from '../api/messages.ts'
import { pause, type RetryNotice, retryDelayMs } from '../api/retry.ts'
import { BrokenAnswer, type StreamOptions, streamAnswer } from '../api/stream-answer.ts'
import { type Config, DEFAULT_MAX_RETRIES, DEFAULT_MAX_TOKENS } from './config.ts'
import type { SafeHandler } from './event-handler.ts'
import type { Tool } from './tool.ts'

export interface AskAnswerOptions {
  config: Config
  model: string
  tools: readonly Tool[]
  messages: readonly Message[]
  handler: SafeHandler
  signal: AbortSignal
}

/** Requests the model's answer and reports its progress to the handler. */
export async function askAnswer(options: AskAnswerOptions): Promise<Answer> {
  const { config, model, tools, messages, handler, signal } = options
  signal.throwIfAborted()
  const body = JSON.stringify(
    requestBody({
      model,
      maxTokens: config.maxTokens ?? DEFAULT_MAX_TOKENS,
      systemPrompt: config.systemPrompt,
      tools,
      messages,
      caching: config.promptCaching ?? true,
      extra: config.extraBody,
    }),
  )
  handler.call('onRequest', { model, messages: messages.length, bytes: Buffer.byteLength(body) })
  return await askModel({
    endpoint: config,
    body,
    signal,
    maxRetries: config.maxRetries ?? DEFAULT_MAX_RETRIES,
    onRetry: notice => handler.call('onRetry', notice),
    onEvent: event => handler.call('onEvent', event),
    onUsage: (usage, by) => handler.call('onUsage', usage, by),
    onBlock: (block, answer) => {
      handler.call('onBlock', block, answer)
      tellBlock(block, handler)
    },
  })
}

function tellBlock(block: ContentBlock, handler: SafeHandler): void {
  if (block.type === 'text') handler.call('onText', block.text)
  if (block.type === 'thinking') handler.call('onReasoning', block.thinking)
  if (block.type === 'tool_use') handler.call('onToolCall', block.id, block.name, block.input)
}

export interface AskOptions extends StreamOptions {
  maxRetries: number
  /** Called before each retry. The content of the failed attempt is discarded. */
  onRetry?(notice: RetryNotice): void
}

/**
 * Requests one answer. Temporary failures (429, 5xx, overload, a lost connection) are retried, even during an answer:
 * tools run only when the answer is complete, so nothing has been done with it.
 */
export async function askModel(options: AskOptions): Promise<Answer> {
  const { maxRetries, signal, onRetry } = options
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await streamAnswer(options)
    } catch (error) {
      const cause = error instanceof BrokenAnswer ? error.cause : error
      if (signal.aborted || !(cause instanceof ApiError) || !cause.isPassing) throw error
      const most = Math.min(maxRetries, cause.maxRetries)
      if (attempt > most) throw error
      const delayMs = retryDelayMs(attempt, cause)
      onRetry?.({ attempt, maxRetries: most, delayMs, error: cause })
      await pause(delayMs, signal)
    }
  }
}

interface RequestOptions {
  model: string
  maxTokens: number
  systemPrompt?: string | undefined
  tools: readonly ToolSpec[]
  messages: readonly Message[]
  /** Marks the unchanged parts for the API's prompt cache. */
  caching: boolean
  extra?: Readonly<Record<string, unknown>> | undefined
}

interface ToolSpec {
  name: string
  description: string
  inputSchema: Record<string, unknown>
}

/**
 * The body of a request. Uses all four cache marks that the API accepts: the tools, the system prompt, and the last two
 * user messages. The earlier of these is where the previous request stored its cache entry.
 */
function requestBody(options: RequestOptions): Record<string, unknown> {
  const { model, maxTokens, systemPrompt, tools, messages, caching, extra } = options
  const marked = caching ? lastTwoOfUser(messages) : []
  return {
    model,
    max_tokens: maxTokens,
    ...extra,
    stream: true,
    ...(systemPrompt ? { system: [mark({ type: 'text', text: systemPrompt }, caching)] } : {}),
    ...(tools.length > 0 ? { tools: toolSpecs(tools, caching), tool_choice: { type: 'auto' } } : {}),
    messages: messages.map((message, index) => wireMessage(message, marked.includes(index))),
  }
}

const CACHE_MARK = { cache_control: { type: 'ephemeral' } }

function mark(block: Record<string, unknown>, isMarked: boolean): Record<string, unknown> {
  return isMarked ? { ...block, ...CACHE_MARK } : block
}

function toolSpecs(tools: readonly ToolSpec[], caching: boolean): Record<string, unknown>[] {
  return tools.map(({ name, description, inputSchema }, index) =>
    mark({ name, description, input_schema: inputSchema }, caching && index === tools.length - 1),
  )
}

function lastTwoOfUser(messages: readonly Message[]): number[] {
  const found: number[] = []
  for (let index = messages.length - 1; index >= 0 && found.length < 2; index -= 1) {
    if (messages[index]?.role === 'user') found.push(index)
  }
  return found
}

function wireMessage({ role, content }: Message, isMarked: boolean): Record<string, unknown> {
  const blocks: readonly ContentBlock[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const last = blocks.length - 1
  return { role, content: blocks.map((block, index) => mark(wireBlock(block), isMarked && index === last)) }
}

function wireBlock(block: ContentBlock): Record<string, unknown> {
  return block.type === 'other' ? block.raw : { ...block }
}
