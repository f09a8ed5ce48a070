import type { TRPCError } from '@trpc/server'

export interface FailedCall {
  error: TRPCError
  /** Undefined for what is wrong with a socket or a message, which is its sender's fault. */
  path: string | undefined
}

/** Passes on what is a fault of ours; everything else the caller has heard in full. */
export function reportFault({ error, path }: FailedCall, onFault: (error: unknown) => void): void {
  if (path === undefined || error.code !== 'INTERNAL_SERVER_ERROR') return
  const { cause } = error
  onFault(cause instanceof Error && cause.cause !== undefined ? cause.cause : (cause ?? error))
}
