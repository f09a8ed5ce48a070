import type { UsageInfo } from '@chirality/core'
import { ApiError } from './api-error.ts'
import type { ApiEvent, ContentBlock, ModelStop } from './messages.ts'

export interface Answer {
  id: string
  model: string
  content: ContentBlock[]
  stopReason: ModelStop | null
  usage: UsageInfo
  /**
   * The error for each call whose input is not a JSON object, by call id. The input of such a call in `content` is
   * empty.
   */
  badInputs: ReadonlyMap<string, string>
}

/** Assembles an answer from the events of its stream. Unknown events and fields are ignored. */
export class AnswerBuilder {
  id = ''
  model = ''
  stopReason: ModelStop | null = null
  isStopped = false
  readonly #blocks: OpenBlock[] = []
  #chars = 0
  readonly #badInputs = new Map<string, string>()
  readonly #usage: Record<string, number> = {}

  /** Returns the content block that this event completed. */
  add(event: ApiEvent): ContentBlock | undefined {
    switch (event.type) {
      case 'content_block_delta':
        this.#grow(event)
        return undefined
      case 'content_block_start':
        this.#blocks[indexOf(event)] = { start: objectOf(event.content_block), pieces: [], signature: '' }
        return undefined
      case 'content_block_stop':
        return this.#finish(this.#blocks[indexOf(event)])
      case 'message_start':
        this.#begin(objectOf(event.message))
        return undefined
      case 'message_delta': {
        const reason = objectOf(event.delta).stop_reason
        if (typeof reason === 'string') this.stopReason = reason
        this.#count(event.usage)
        return undefined
      }
      case 'message_stop':
        this.isStopped = true
        return undefined
      default:
        return undefined
    }
  }

  get usage(): UsageInfo {
    const { input_tokens = 0, output_tokens = 0 } = this.#usage
    return { ...this.#usage, input_tokens, output_tokens }
  }

  answer(): Answer {
    const content = this.#blocks.flatMap(block => (block?.finished ? [block.finished] : []))
    return {
      id: this.id,
      model: this.model,
      content,
      stopReason: this.stopReason,
      usage: this.usage,
      badInputs: this.#badInputs,
    }
  }

  /** The content of an answer that broke off: complete blocks, and the beginning of an incomplete text. */
  saidSoFar(): ContentBlock[] {
    return this.#blocks.flatMap((block): ContentBlock[] => {
      if (block === undefined) return []
      if (block.finished) return [block.finished]
      return block.start.type === 'text' ? [{ type: 'text', text: textOf(block, 'text') }] : []
    })
  }

  #begin(message: Record<string, unknown>): void {
    if (typeof message.id === 'string') this.id = message.id
    if (typeof message.model === 'string') this.model = message.model
    this.#count(message.usage)
  }

  #grow(event: ApiEvent): void {
    const block = this.#blocks[indexOf(event)]
    if (block === undefined) return
    const delta = objectOf(event.delta)
    const piece = delta.text ?? delta.thinking ?? delta.partial_json
    if (typeof piece === 'string') {
      this.#chars += piece.length
      // A longer answer fits neither in a JavaScript string nor in a line of the raw log.
      if (this.#chars > MAX_ANSWER_CHARS)
        throw new ApiError(
          'The answer of the model is longer than 64 million characters, so it was cut off.',
          {
            type: 'answer_too_long',
          },
        )
      block.pieces.push(piece)
    }
    if (typeof delta.signature === 'string') block.signature += delta.signature
  }

  #finish(block: OpenBlock | undefined): ContentBlock | undefined {
    if (block === undefined) return undefined
    block.finished = this.#whole(block)
    return block.finished
  }

  #whole(block: OpenBlock): ContentBlock {
    const { start, signature } = block
    switch (start.type) {
      case 'text':
        return { ...start, type: 'text', text: textOf(block, 'text') }
      case 'thinking': {
        const signed = signature || (typeof start.signature === 'string' ? start.signature : '')
        return { ...start, type: 'thinking', thinking: textOf(block, 'thinking'), signature: signed }
      }
      case 'redacted_thinking':
        return { ...start, type: 'redacted_thinking', data: String(start.data ?? '') }
      case 'tool_use': {
        const { id, name } = start
        if (typeof id !== 'string' || typeof name !== 'string') return { type: 'other', raw: start }
        return { ...start, type: 'tool_use', id, name, input: this.#inputOf(id, block) }
      }
      default: {
        const json = block.pieces.join('')
        const parsed = json === '' ? undefined : parseObject(json)
        return { type: 'other', raw: typeof parsed === 'object' ? { ...start, input: parsed } : start }
      }
    }
  }

  #inputOf(id: string, block: OpenBlock): Record<string, unknown> {
    const json = block.pieces.join('')
    const input = json === '' ? objectOf(block.start.input) : parseObject(json)
    if (typeof input !== 'string') return input
    this.#badInputs.set(id, input)
    return {}
  }

  /** Each usage event holds the total so far, so a later count replaces an earlier one. */
  #count(usage: unknown): void {
    const counts = objectOf(usage)
    for (const field of COUNTED) {
      const value = counts[field]
      if (typeof value === 'number' && Number.isFinite(value)) this.#usage[field] = value
    }
  }
}

interface OpenBlock {
  start: Record<string, unknown>
  pieces: string[]
  signature: string
  finished?: ContentBlock
}

const COUNTED = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const

function indexOf(event: ApiEvent): number {
  const { index } = event
  // An invalid index would create an array with a billion holes.
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < MAX_BLOCKS ? index : 0
}

const MAX_BLOCKS = 10_000
const MAX_ANSWER_CHARS = 64 * 1024 * 1024

function textOf({ start, pieces }: OpenBlock, field: 'text' | 'thinking'): string {
  const begun = start[field]
  return (typeof begun === 'string' ? begun : '') + pieces.join('')
}

/** The parsed object, or an error message. */
function parseObject(json: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    return 'it is JSON, but no object'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

/** The sum of each field; a field that is missing in both is left out. */
export function addUsage(a: UsageInfo, b: UsageInfo): UsageInfo {
  const total: UsageInfo = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  }
  for (const field of ['cache_read_input_tokens', 'cache_creation_input_tokens'] as const) {
    if (a[field] !== undefined || b[field] !== undefined) total[field] = (a[field] ?? 0) + (b[field] ?? 0)
  }
  return total
}
