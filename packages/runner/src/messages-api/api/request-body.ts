import type { ContentBlock, Message } from './messages.ts'

export interface RequestOptions {
  model: string
  maxTokens: number
  systemPrompt?: string | undefined
  tools: readonly ToolSpec[]
  messages: readonly Message[]
  /** Marks what stays the same for the API's cache. */
  caching: boolean
  /** Further fields, such as `thinking`. */
  extra?: Readonly<Record<string, unknown>> | undefined
}

export interface ToolSpec {
  name: string
  description: string
  inputSchema: Record<string, unknown>
}

/**
 * The JSON of a request. Four cache marks, which is all that the API takes: the tools, the system prompt, and the last two
 * messages of the user. The one before the last is where the previous request left its entry.
 */
export function requestBody(options: RequestOptions): Record<string, unknown> {
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
