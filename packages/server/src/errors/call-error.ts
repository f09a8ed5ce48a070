import type { TRPC_ERROR_CODE_KEY } from '@trpc/server'

/** A call that fails, with a message for the caller. */
export class CallError extends Error {
  readonly code: TRPC_ERROR_CODE_KEY
  /** A stable code for programs; finer than `code`. */
  readonly reason: string

  constructor(code: TRPC_ERROR_CODE_KEY, reason: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CallError'
    this.code = code
    this.reason = reason
  }
}

/** An error answer. `code` is stable between versions; `message` is for people. */
export class HttpError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    // No stack is captured: it would cost as much as the rest of a refusal, and is never shown.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'HttpError'
    this.status = status
    this.code = code
  }
}
