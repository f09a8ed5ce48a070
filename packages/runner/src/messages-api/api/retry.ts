import type { ApiError } from './api-error.ts'

export interface RetryNotice {
  /** Counts from 1. */
  attempt: number
  maxRetries: number
  delayMs: number
  error: ApiError
}

/**
 * The delay doubles with each attempt. A quarter of it is random, so that agents that failed together do not retry
 * together.
 */
export function retryDelayMs(attempt: number, error: ApiError, random = Math.random): number {
  const asked = error.retryAfterMs
  if (asked !== undefined && asked <= MAX_ASKED_MS) return asked
  const full = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS)
  return Math.round(full * (1 - random() / 4))
}

/** Resolves after the delay; rejects immediately with the signal's reason when the signal fires. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, delayMs)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 32_000
/** A turn does not wait an hour because the server asks for it; it tries earlier, fails and reports the error. */
const MAX_ASKED_MS = 5 * 60_000
