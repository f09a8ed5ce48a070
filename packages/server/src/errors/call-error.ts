import type { TRPC_ERROR_CODE_KEY } from '@trpc/server'

/** A call that cannot be done, in words for the one who called. */
export class CallError extends Error {
  readonly code: TRPC_ERROR_CODE_KEY
  /** What programs may rely on; finer than `code`. */
  readonly reason: string

  constructor(code: TRPC_ERROR_CODE_KEY, reason: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CallError'
    this.code = code
    this.reason = reason
  }
}

/** An answer that is not what was asked for. `code` stays the same from version to version; `message` is for people. */
export class HttpError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    // Whoever is refused is refused cheaply: a stack costs as much as all the rest of it, and tells nobody anything.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'HttpError'
    this.status = status
    this.code = code
  }
}
