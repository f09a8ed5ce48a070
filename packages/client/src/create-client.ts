import type { AppRouter } from '@chirality/server'
import { createTRPCClient, httpLink, type TRPCClient, type TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { refusedBy, type ServerAddress } from './server-refused.ts'

/** Every call of a server by its path: `client.review.state.query({ sessionId })`. */
export type Client = TRPCClient<AppRouter>

/**
 * Calls over HTTP, one request each. A call that fails rejects with `ServerRefusedError`. Subscriptions need
 * `createLiveClient`.
 */
export function createClient(server: ServerAddress): Client {
  return createTRPCClient<AppRouter>({
    links: [
      refusals(server),
      httpLink({
        url: `${server.url}/trpc`,
        headers: { authorization: `Bearer ${server.token}` },
        fetch: fetchJson,
      }),
    ],
  })
}

/** Another program may use the port by now. */
async function fetchJson(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  if (response.headers.get('content-type')?.startsWith('application/json')) return response
  await response.body?.cancel()
  throw new Error(`it said ${response.status}`)
}

/** Turns every failure into a `ServerRefusedError`, which tells a refusal from a server that is not there. */
function refusals(server: ServerAddress): TRPCLink<AppRouter> {
  return () =>
    ({ op, next }) =>
      observable(observer =>
        next(op).subscribe({
          next: value => observer.next(value),
          complete: () => observer.complete(),
          error: error => observer.error(refusedBy(server, error.meta?.responseJSON, error.cause ?? error)),
        }),
      )
}
