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

/** The refusal in an answer of the server; without one, why the server is unreachable. */
export function refusedBy(server: ServerAddress, answer: unknown, why: unknown): ServerRefusedError {
  const said = errorIn(answer)
  if (said !== undefined) return new ServerRefusedError(said.data?.reason ?? String(said.code), said.message)
  const process = server.pid === undefined ? '' : ` (process ${server.pid})`
  const reason = why instanceof Error ? reasonOf(why) : String(why)
  return new ServerRefusedError(
    'unreachable',
    `The server at ${server.url}${process} does not answer: ${reason}. Try again, or stop it.`,
  )
}

/** `fetch` says only that it failed; its cause says why. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
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
