import { type CodedError, isCodedError } from '@chirality/core'
import { initTRPC, TRPCError } from '@trpc/server'
import { middlewareMarker } from '@trpc/server/unstable-core-do-not-import'
import type { z } from 'zod'
import { checked } from '../contract/checked.ts'
import { CALL_STATUS, type CallErrorCode } from '../errors/call-error.ts'
import { toCallError } from '../errors/to-call-error.ts'
import { forwarded } from '../fleet/forward.ts'
import type { CallContext } from './context.ts'

const t = initTRPC.context<CallContext>().create({
  // Stacks are only for the server's own output.
  isDev: false,
  errorFormatter: ({ shape, error }) => {
    const call = callErrorOf(error)
    return {
      ...shape,
      message: call?.message ?? error.message,
      data: { ...shape.data, reason: call?.code ?? null },
    }
  },
})

export const { router } = t

export const { createCallerFactory } = t

/** Every procedure: its errors get stable codes, and a call about another machine's session is answered there. */
export const procedure = t.procedure.use(async ({ ctx, path, type, getRawInput, next }) => {
  if (ctx.fleet !== undefined && type !== 'subscription') {
    const answer = await forwarded(ctx.fleet, { path, input: await getRawInput() }).catch(
      (error: unknown) => {
        throw toTrpcError(error)
      },
    )
    if (answer !== undefined) return { marker: middlewareMarker, ok: true, data: answer.data }
  }
  const result = await next()
  if (!result.ok) throw toTrpcError(result.error)
  return result
})

/** A procedure of the contract. */
export function call<I extends z.ZodType, O extends z.ZodType>({ input, output }: { input: I; output: O }) {
  return procedure.input(input).output(checked(output))
}

/** A procedure without input. */
export function ask<O extends z.ZodType>({ output }: { output: O }) {
  return procedure.output(checked(output))
}

/** For errors that a running subscription throws, which no middleware sees. */
export function toTrpcError(error: unknown): TRPCError {
  const cause = error instanceof TRPCError ? error.cause : error
  // tRPC's own errors: wrong path, input that fails its schema before a procedure runs …
  if (error instanceof TRPCError && (cause === undefined || error.code !== 'INTERNAL_SERVER_ERROR')) {
    const call = callErrorOf(error)
    return call === undefined
      ? error
      : new TRPCError({ code: error.code, message: call.message, cause: call })
  }
  const call = toCallError(cause)
  return new TRPCError({ code: CALL_STATUS[call.code], message: call.message, cause: call })
}

function callErrorOf(error: TRPCError): CodedError<CallErrorCode> | undefined {
  if (isCodedError(error.cause)) return toCallError(error.cause)
  // Input errors hold what was given; only their words may go back.
  if (error.cause !== undefined && error.code === 'BAD_REQUEST') return toCallError(error.cause)
  return error.code === 'INTERNAL_SERVER_ERROR' ? toCallError(error.cause) : undefined
}
