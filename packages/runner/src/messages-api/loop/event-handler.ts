import type { UsageInfo } from '@chirality/core'
import type { AnswerBuilder } from '../api/answer.ts'
import type { ApiEvent, ContentBlock, Message, ToolUseBlock } from '../api/messages.ts'
import type { RetryNotice } from '../api/retry.ts'
import type { PromptContent } from './history.ts'

/**
 * Observes a loop. Methods are called synchronously and in order, and must not block. The loop continues after one
 * throws, and the result of `prompt` holds the error.
 */
export interface EventHandler {
  onText?(text: string): void
  /** A call is complete. It runs when the whole answer is complete. */
  onToolCall?(id: string, name: string, input: Record<string, unknown>): void
  /** A call of an earlier prompt that nobody decided about is asked about again, under a new id. */
  onCallAgain?(call: ToolUseBlock): void
  onToolResult?(id: string, result: string, isError: boolean, detail?: unknown): void

  /** The prompt, or a message that was added while the loop ran. */
  onUser?(content: PromptContent): void
  onReasoning?(text: string): void
  /** The answer broke off and is requested again; its content so far does not count. */
  onRetry?(notice: RetryNotice): void
  /** The tokens of one answer, including one that broke off, which costs money as well. */
  onUsage?(usage: UsageInfo, model: string): void
  onFallback?(from: string, to: string): void

  onRequest?(request: RequestFacts): void
  onEvent?(event: ApiEvent): void
  onBlock?(block: ContentBlock, answer: AnswerBuilder): void
  onMessage?(message: Message): void
}

export interface RequestFacts {
  model: string
  messages: number
  bytes: number
}

type Methods = Required<EventHandler>

/** Calls a handler and collects the errors it throws. */
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

/** A handler that throws at every delta must not fill the memory. */
const MAX_ERRORS = 20
