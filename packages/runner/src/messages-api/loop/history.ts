import type { ContentBlock, Message, PromptBlock, ToolResultBlock } from '../api/messages.ts'

export type PromptContent = string | readonly PromptBlock[]

/** An append-only conversation, frozen on the way in and out. */
export class History {
  readonly #messages: Message[]
  readonly #onMessage: ((message: Message) => void) | undefined

  constructor(messages: readonly Message[] = [], onMessage?: (message: Message) => void) {
    this.#messages = messages.map(frozenCopy)
    this.#onMessage = onMessage
  }

  get messages(): readonly Message[] {
    return Object.freeze([...this.#messages])
  }

  /** Drops blocks that the API would refuse, and the message if none are left. */
  append(role: Message['role'], content: PromptContent | readonly ContentBlock[]): void {
    const kept = typeof content === 'string' ? content : content.filter(isAccepted)
    if (kept.length === 0) return
    const message = frozenCopy({ role, content: kept })
    this.#messages.push(message)
    this.#onMessage?.(message)
  }
}

/** Results for the last calls that have none: the API refuses a call without a result. */
export function missingResults(messages: readonly Message[]): ToolResultBlock[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || typeof last.content === 'string') return []
  return last.content.flatMap(block => (block.type === 'tool_use' ? lostResult(block.id) : []))
}

export function lostResult(id: string): ToolResultBlock {
  const content = 'The result was lost: the turn was cut off.'
  return { type: 'tool_result', tool_use_id: id, content, is_error: true }
}

/** The API refuses blank text, and thinking without a signature. */
function isAccepted(block: ContentBlock): boolean {
  if (block.type === 'text') return block.text.trim() !== ''
  return block.type !== 'thinking' || block.signature !== ''
}

function frozenCopy(message: Message): Message {
  return deepFreeze(structuredClone(message))
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
