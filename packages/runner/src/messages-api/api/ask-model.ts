import type { Answer } from './answer.ts'
import { ApiError } from './api-error.ts'
import { pause, type RetryNotice, retryDelayMs } from './retry.ts'
import { BrokenAnswer, type StreamOptions, streamAnswer } from './stream-answer.ts'

export interface AskOptions extends StreamOptions {
  maxRetries: number
  /** Told before each further attempt. All that the answer has said so far is taken back. */
  onRetry?(notice: RetryNotice): void
}

/**
 * One answer of the model. What passes by itself (429, 5xx, an overloaded API, a lost connection) is tried again, also in
 * the middle of an answer: nothing was done with it yet, because tools run only when it is whole.
 */
export async function askModel(options: AskOptions): Promise<Answer> {
  const { maxRetries, signal, onRetry } = options
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await streamAnswer(options)
    } catch (error) {
      const cause = error instanceof BrokenAnswer ? error.cause : error
      const isLast = attempt > maxRetries || signal.aborted
      if (isLast || !(cause instanceof ApiError) || !cause.isPassing) throw error
      const delayMs = retryDelayMs(attempt, cause)
      onRetry?.({ attempt, maxRetries, delayMs, error: cause })
      await pause(delayMs, signal)
    }
  }
}
