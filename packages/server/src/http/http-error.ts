import { CALL_STATUS, toCallError } from '@chirality/centre'
import { CodedError, isCodedError } from '@chirality/core'
import type { TRPCError } from '@trpc/server'

/** An answer over HTTP that is not what was asked for. */
export class HttpError extends CodedError {
  readonly status: number

  constructor(status: number, code: string, message: string) {
    // No stack is captured: it would cost as much as the rest of a refusal, and is never shown.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(code, message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'HttpError'
    this.status = status
  }
}

interface FailedCall {
  error: TRPCError
  /** Undefined for an error in a socket or a message, which is its sender's fault. */
  path: string | undefined
}

/** Reports internal errors; every other error the caller has received in full. */
export function reportFault({ error, path }: FailedCall, onFault: (error: unknown) => void): void {
  if (path === undefined || error.code !== 'INTERNAL_SERVER_ERROR') return
  const { cause } = error
  onFault(cause instanceof Error && cause.cause !== undefined ? cause.cause : (cause ?? error))
}

/** The error to report in the place of one that a call was answered with: `internal` withholds its cause from the caller. */
export function faultOf(error: unknown): unknown {
  return isCodedError(error) && error.code === 'internal' ? (error.cause ?? error) : error
}

export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  const { code, message } = toCallError(error)
  return new HttpError(CALL_STATUS[code], code, message)
}
