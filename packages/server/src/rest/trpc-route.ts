import type { Centre } from '@chirality/centre'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import { bearerOf, type Keys } from '../guard/keys.ts'
import { reportFault } from '../http/http-error.ts'
import type { RouteRequest } from '../http/routes.ts'
import { SendPace } from '../http/send-pace.ts'
import { responseOutlet } from '../http/sse.ts'
import { MAX_BATCH } from '../socket/trpc-socket.ts'
import type { AppRouter } from '../trpc/router.ts'

export interface TrpcRouteOptions {
  router: AppRouter
  centre: Centre
  keys: Keys
  onFault: (error: unknown) => void
}

/** tRPC over HTTP, for programs, and for calls that exceed a socket's message size. */
export async function serveTrpcRequest(
  { request, response, url }: RouteRequest,
  { router, centre, keys, onFault }: TrpcRouteOptions,
): Promise<void> {
  const pace = new SendPace(responseOutlet(response))
  response.once('close', () => pace.close())
  // A procedure without input is called without a body, and then clients name no type: tRPC would answer with 415.
  request.headers['content-type'] ??= JSON_TYPE
  await nodeHTTPRequestHandler({
    router,
    req: request,
    res: response,
    path: url.pathname.slice('/trpc/'.length),
    maxBodySize: MAX_CALL_BYTES,
    maxBatchSize: MAX_BATCH,
    createContext: async () => ({
      centre,
      caller: { pace, takesJson: false, browser: keys.browserOf(bearerOf(request.headers.authorization)) },
    }),
    // A request that tRPC cannot read is refused with JSON, but tRPC would send that as text.
    responseMeta: ({ info }) =>
      info === undefined ? { headers: new Headers({ 'content-type': JSON_TYPE }) } : {},
    onError: failed => reportFault(failed, onFault),
  })
}

const JSON_TYPE = 'application/json'

/** Images come as base64. */
export const MAX_CALL_BYTES = 32 * 1024 * 1024
