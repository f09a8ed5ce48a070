import { type CodedError, isCodedError } from '@chirality/core'
import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { ZodError, type z } from 'zod'
import { CALL_STATUS, type CallErrorCode, callError, HttpError } from './call-error.ts'

/**
 * An error as the caller gets it. Errors of Chirality's own packages keep their message; the text of any other error is
 * withheld, because it may contain anything.
 */
export function toCallError(error: unknown): CodedError<CallErrorCode> {
  if (isCallError(error)) return error
  if (error instanceof ZodError) return callError('invalid-input', describeProblems(error), error)
  return callError('internal', INTERNAL, error)
}

function isCallError(error: unknown): error is CodedError<CallErrorCode> {
  return isCodedError(error) && Object.hasOwn(CALL_STATUS, error.code)
}

const INTERNAL = 'Something is wrong in the server itself. Its output says what.'

/** What is wrong with an input, in one line: where, and what would be right. */
export function describeProblems({ issues }: z.ZodError): string {
  const shown = issues.slice(0, MAX_SHOWN).map(({ path, message }) => {
    const place = path.map(String).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  const more = issues.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

const MAX_SHOWN = 5

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

export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  const { code, message } = toCallError(error)
  return new HttpError(getHTTPStatusCodeFromError(new TRPCError({ code: CALL_STATUS[code] })), code, message)
}
