import { CALL_STATUS, type CallErrorCode, toCallError } from '@chirality/centre'
import { type CodedError, isCodedError } from '@chirality/core'
import { TRPCError } from '@trpc/server'
import { getStatusKeyFromCode } from '@trpc/server/unstable-core-do-not-import'

/** An error of a call as tRPC throws it. */
export function toTrpcError(error: unknown): TRPCError {
  const call = toCallError(error)
  return new TRPCError({
    code: getStatusKeyFromCode(CALL_STATUS[call.code]),
    message: call.message,
    cause: call,
  })
}

/** The error of a call within one of tRPC. Undefined for tRPC's own, such as a path that does not exist. */
export function callErrorOf(error: TRPCError): CodedError<CallErrorCode> | undefined {
  if (isCodedError(error.cause)) return toCallError(error.cause)
  // Input errors hold what was given; only their words may go back.
  if (error.cause !== undefined && error.code === 'BAD_REQUEST') return toCallError(error.cause)
  return error.code === 'INTERNAL_SERVER_ERROR' ? toCallError(error.cause) : undefined
}
