import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { HttpError } from '../http/http-error.ts'
import { toCallError } from './to-call-error.ts'

export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  const { code, reason, message } = toCallError(error)
  return new HttpError(getHTTPStatusCodeFromError(new TRPCError({ code })), reason, message)
}
