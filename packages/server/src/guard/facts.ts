import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
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
    token: keys.judgeHeader(single(request, 'authorization'), kind === 'program' ? 'program' : 'user'),
  }
}

/**
 * The network address of the client, for the list of devices: no decision depends on it. A proxy appends it to
 * `X-Forwarded-For`, and only the last entry, from a proxy of this server, is believed: clients can send the others.
 */
export function clientAddress(
  { socket, headersDistinct }: IncomingMessage,
  proxies: ReadonlySet<string>,
): string | null {
  const peer = plainAddress(socket.remoteAddress ?? '')
  const forwarded = proxies.has(peer) ? headersDistinct['x-forwarded-for']?.at(-1) : undefined
  const last = plainAddress(forwarded?.split(',').at(-1)?.trim() ?? '')
  const known = last === '' ? peer : last
  return isIP(known) === 0 ? null : known
}

/** Node names IPv4 peers of an IPv6 socket `::ffff:127.0.0.1`. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
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
