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
