import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { factsOf } from '../guard/facts.ts'
import { type GuardReason, guard, type RouteKind } from '../guard/guard.ts'
import type { Keys } from '../guard/keys.ts'
import type { Place } from '../guard/places.ts'
import { HttpError } from './http-error.ts'
import { sendError } from './respond.ts'
import { matchRoute, type Route, type RouteMatch } from './routes.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import type { StaticFiles } from './static-files.ts'

export interface TlsFiles {
  cert: string
  key: string
}

export interface HttpServerOptions {
  /** Known once the port is. Until then nobody gets in. */
  place: () => Place
  keys: Keys
  routes: readonly Route[]
  files: StaticFiles
  tls?: TlsFiles
  /** What a thrown error means to the one who asked; what it means to us goes to `onFault`. */
  toHttpError: (error: unknown) => HttpError
}

/**
 * By hand on `node:http`: a framework would put its own routing, parsing and defaults between the guard and what it guards, and
 * there are some twenty routes.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response, options).catch((error: unknown) => {
      sendError(response, options.toHttpError(error))
    })
  }
  const limits = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  }
  const server = options.tls
    ? createTlsServer({ ...limits, ...options.tls }, handle)
    : createServer(limits, handle)
  server.maxConnections = MAX_CONNECTIONS
  server.maxHeadersCount = MAX_HEADERS
  server.on('clientError', (_error, socket) => refuseSocket(socket as Socket))
  return server
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 5_000
const MAX_HEADER_BYTES = 16 * 1024
const MAX_HEADERS = 64
/** More than the sockets that are served, so that one too many hears why. */
const MAX_CONNECTIONS = 2048

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpServerOptions,
): Promise<void> {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
  const url = requestUrl(request)
  if (url === undefined) throw new HttpError(400, 'invalid-url', 'The address cannot be read.')
  const match = matchRoute(options.routes, request.method ?? '', url.pathname)
  const verdict = guard(factsOf(request, kindOf(match, url.pathname), options.keys), options.place())
  if (!verdict.allow) throw refusal(verdict.status, verdict.reason)
  switch (match.found) {
    case 'route':
      return match.route.handle({ request, response, url, params: match.params })
    case 'path':
      response.setHeader('allow', match.allowed.join(', '))
      throw new HttpError(405, 'method', `Use ${match.allowed.join(' or ')} here.`)
    case 'nothing':
      if (isApi(url.pathname)) throw new HttpError(404, 'not-found', 'There is no such route.')
      return options.files.serve(request, response, url.pathname)
  }
}

/** Only the path counts: a whole address in the request line is for proxies, which we are not. */
export function requestUrl(request: IncomingMessage): URL | undefined {
  const target = request.url ?? ''
  return target.startsWith('/') && URL.canParse(`http://server${target}`)
    ? new URL(`http://server${target}`)
    : undefined
}

/** Whoever is not let in does not learn which routes there are. */
function kindOf(match: RouteMatch, pathname: string): RouteKind {
  if (match.found === 'route') return match.route.kind
  return match.found === 'path' || isApi(pathname) ? 'call' : 'page'
}

function isApi(pathname: string): boolean {
  return /^\/(?:api|trpc)(?:\/|$)/.test(pathname)
}

export function refusal(status: number, reason: GuardReason): HttpError {
  return new HttpError(status, reason, REFUSALS[reason])
}

const REFUSALS: Record<GuardReason, string> = {
  host: 'This server is not reached under that name. Use the link that it printed.',
  method: 'This method is not used here.',
  origin: 'Other pages may not use this server.',
  'cross-site': 'Other pages may not use this server.',
  'content-type': 'Send JSON, with "Content-Type: application/json".',
  'token-missing': 'Send the token of this server: "Authorization: Bearer TOKEN".',
  'token-wrong': 'The token is not the one of this server. It is new each time the server starts.',
}

function refuseSocket(socket: Socket): void {
  if (socket.writable && socket.bytesWritten === 0) {
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  } else socket.destroy()
}
