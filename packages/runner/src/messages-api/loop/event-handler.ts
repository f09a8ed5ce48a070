import type { UsageInfo } from '@chirality/core'
import type { AnswerBuilder } from '../api/answer.ts'
import type { ApiEvent, ContentBlock, Message } from '../api/messages.ts'
import type { RetryNotice } from '../api/retry.ts'
import type { PromptContent } from './history.ts'

/**
 * Watches a loop. All methods are called at once and in order, and must not block. One that throws changes nothing: the
 * loop goes on, and the error is in the result of `prompt`.
 */
export interface EventHandler {
  /** A text block is complete. */
  onText?(text: string): void
  /** A call is complete; it runs when the whole answer is there. */
  onToolCall?(id: string, name: string, input: Record<string, unknown>): void
  onToolResult?(id: string, result: string, isError: boolean, detail?: unknown): void

  /** The prompt, or what was added to it while the loop ran. */
  onUser?(content: PromptContent): void
  onReasoning?(text: string): void
  /** The answer broke off and is asked for again: what it said so far does not count. */
  onRetry?(notice: RetryNotice): void
  /** Tokens of one answer, also of one that broke off: it costs money all the same. */
  onUsage?(usage: UsageInfo, model: string): void
  onFallback?(from: string, to: string): void

  // Closer to the wire.
  onRequest?(request: RequestFacts): void
  onEvent?(event: ApiEvent): void
  onBlock?(block: ContentBlock, answer: AnswerBuilder): void
  /** Something was added to the history. */
  onMessage?(message: Message): void
}

export interface RequestFacts {
  model: string
  messages: number
  bytes: number
}

type Methods = Required<EventHandler>

/** Calls a handler whose mistakes stay its own. */
export class SafeHandler {
  readonly #handler: EventHandler
  readonly #errors: unknown[] = []

  constructor(handler: EventHandler) {
    this.#handler = handler
  }

  call<K extends keyof Methods>(name: K, ...args: Parameters<Methods[K]>): void {
    try {
      const method = this.#handler[name] as ((...args: Parameters<Methods[K]>) => void) | undefined
      method?.apply(this.#handler, args)
    } catch (error) {
      if (this.#errors.length < MAX_ERRORS) this.#errors.push(error)
    }
  }

  get errors(): readonly unknown[] {
    return [...this.#errors]
  }

  forgetErrors(): void {
    this.#errors.length = 0
  }
}

/** One that throws at every delta must not fill memory. */
const MAX_ERRORS = 20
