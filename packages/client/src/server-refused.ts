import type { AppRouter } from '@chirality/server'
import { TRPCClientError } from '@trpc/client'

export interface ServerAddress {
  /** Without a path: `http://127.0.0.1:4096`. */
  url: string
  token: string
  /** Process of the server, for the message when it does not answer. */
  pid?: number
}

/** The server refused a call, with the server's message; or it cannot be reached, with the code `unreachable`. */
export class ServerRefusedError extends TRPCClientError<AppRouter> {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    // Its parent sets the prototype to its own.
    Object.setPrototypeOf(this, ServerRefusedError.prototype)
    this.name = 'ServerRefusedError'
    this.code = code
  }
}

export function refusalOf(server: ServerAddress, error: TRPCClientError<AppRouter>): ServerRefusedError {
  const said = errorIn(error.meta?.responseJSON)
  if (said !== undefined) return new ServerRefusedError(said.data?.reason ?? String(said.code), said.message)
  return unreachable(server, error.cause?.cause ?? error.cause ?? error.message)
}

function unreachable({ url, pid }: ServerAddress, why: unknown): ServerRefusedError {
  const reason = why instanceof Error ? why.message : String(why)
  const process = pid === undefined ? '' : ` (process ${pid})`
  return new ServerRefusedError(
    'unreachable',
    `The server at ${url}${process} does not answer: ${reason}. Try again, or stop it.`,
  )
}

interface SaidError {
  code: string | number
  message: string
  data?: { reason?: string | null }
}

/** The error in an answer of a call or of a route, or of the guard before both. */
function errorIn(answer: unknown): SaidError | undefined {
  return (answer as { error?: SaidError } | undefined)?.error
}
