import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ListenOptions {
  host: string
  /** Tried first; then those after it. 0 takes any. */
  port: number
  /** How many ports to try. */
  attempts?: number
}

/** Listens on the preferred port or on one near it, and says which. */
export async function listen(
  server: Server,
  { host, port, attempts = ATTEMPTS }: ListenOptions,
): Promise<number> {
  const last = port === 0 ? 0 : Math.min(port + attempts - 1, MAX_PORT)
  for (let candidate = port; candidate <= last; candidate += 1) {
    const bound = await tryPort(server, host, candidate)
    if (bound !== undefined) return bound
  }
  throw new ListenError(`Ports ${port} to ${last} of ${host} are all in use. Name another one with --port.`)
}

export class ListenError extends Error {
  override readonly name = 'ListenError'
}

const ATTEMPTS = 20
export const MAX_PORT = 65_535

/** Undefined when somebody else has it. */
function tryPort(server: Server, host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off('listening', onListening)
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(new ListenError(`Cannot listen on ${host}:${port}: ${error.message}.`))
    }
    const onListening = () => {
      server.off('error', onError)
      resolve((server.address() as AddressInfo).port)
    }
    server.once('error', onError).once('listening', onListening).listen({ host, port, exclusive: true })
  })
}
