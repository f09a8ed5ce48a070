import { randomUUID } from 'node:crypto'
import type { ContentBlock, Message, PromptBlock, ToolResultBlock, ToolUseBlock } from '../api/messages.ts'

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

/** What a process that was killed left open. */
export interface UnfinishedCalls {
  /** The id of the call that somebody was asked about, without an answer: it did not run. */
  waiting?: string
  /** Messages that the model did not get. */
  said: readonly PromptContent[]
}

/** The last calls, if they have no results: the API refuses a call without one. */
export function openCalls(messages: readonly Message[]): ToolUseBlock[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || typeof last.content === 'string') return []
  return last.content.filter(block => block.type === 'tool_use')
}

/** Calls after the one that somebody was asked about were not begun. */
export function notBegun(id: string): ToolResultBlock {
  const content = 'Not executed: Chirality was ended before. Call it again if it is still needed.'
  return { type: 'tool_result', tool_use_id: id, content, is_error: true }
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

/** Ids are unique in a session, so a call that is asked about again has one of its own. */
export function askedAgain(id: string): string {
  return `${firstAsked(id)}${AGAIN}${randomUUID().slice(0, 8)}`
}

/** The id by which the model knows the call. */
export function firstAsked(id: string): string {
  return id.replace(/~again-[0-9a-f]{8}$/, '')
}

const AGAIN = '~again-'
