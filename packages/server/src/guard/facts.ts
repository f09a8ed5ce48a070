import type { IncomingMessage } from 'node:http'
import type { RequestFacts, RouteKind } from './guard.ts'
import type { Keys } from './keys.ts'

/** Far more than a browser sends. */
export const MAX_HEADERS = 64

/** The facts about a node request that the guard needs. */
export function factsOf(request: IncomingMessage, kind: RouteKind, keys: Keys): RequestFacts {
  const { headers } = request
  return {
    headersComplete: request.rawHeaders.length <= 2 * MAX_HEADERS,
    method: request.method ?? '',
    kind,
    host: single(request, 'host'),
    origin: single(request, 'origin'),
    fetchSite: headerText(headers['sec-fetch-site']),
    fetchMode: headerText(headers['sec-fetch-mode']),
    fetchDest: headerText(headers['sec-fetch-dest']),
    contentType: headers['content-type'],
    hasBody:
      headers['transfer-encoding'] !== undefined || !['0', undefined].includes(headers['content-length']),
    token: keys.judgeHeader(single(request, 'authorization')),
  }
}

/**
 * Node keeps the first of two such headers, another reader might keep the second. So two are refused like an invalid
 * one.
 */
function single(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name]
  return values === undefined || values.length === 1 ? values?.[0] : values.join(', ')
}

function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}
