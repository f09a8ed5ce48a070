import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { factsOf, MAX_HEADERS } from '../guard/facts.ts'
import { type GuardReason, guard, type RouteKind } from '../guard/guard.ts'
import { bearerOf, type Keys } from '../guard/keys.ts'
import type { Place } from '../guard/places.ts'
import { HttpError } from './http-error.ts'
import { endSocket, SECURITY_HEADERS, sendError } from './respond.ts'
import { matchRoute, type Route, type RouteMatch } from './routes.ts'
import type { StaticFiles } from './static-files.ts'

export interface TlsFiles {
  cert: string
  key: string
}

export interface HttpServerOptions {
  /** Set once the port is known. Until then every request is refused. */
  place: () => Place
  keys: Keys
  routes: readonly Route[]
  files: StaticFiles
  tls?: TlsFiles
  /** Called for a connection whose request had a valid token. */
  onTrusted?: (socket: Socket) => void
  /** How long a connection may take to send its request. */
  headersMs?: number
  /** How long an answer waits for a client that does not read. */
  unreadMs?: number
  /** Turns a thrown error into an answer for the caller; internal errors go to `onFault`. */
  toHttpError: (error: unknown) => HttpError
}

/**
 * Written on `node:http`: a framework would put its own routing, parsing and defaults between the guard and the routes,
 * and there are only about twenty routes.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const fail = (error: unknown) => {
      if (isDeparture(error, response)) response.destroy()
      else sendError(response, options.toHttpError(error))
    }
    // Without a listener, a write after the end would end the process.
    response.on('error', fail)
    closeWithConnection(request, response)
    whenItsTurn(request, response)
      .then(itsTurn => (itsTurn ? answer(request, response, options) : undefined))
      .catch(fail)
  }
  const { headersMs = HEADERS_MS } = options
  const limits = {
    headersTimeout: headersMs,
    requestTimeout: Math.max(headersMs, REQUEST_TIMEOUT_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // By default node checks its timeouts every 30 s, and expired connections would stay that long.
    connectionsCheckingInterval: Math.min(headersMs, CHECK_MS),
  }
  const server = options.tls
    ? createTlsServer({ ...limits, handshakeTimeout: headersMs, ...options.tls }, handle)
    : createServer(limits, handle)
  server.maxConnections = MAX_CONNECTIONS
  server.timeout = options.unreadMs ?? UNREAD_MS
  // A slow handler has written nothing; a client that does not read leaves written data unsent.
  server.on('timeout', socket => {
    if (socket.writableLength > 0) socket.destroy()
  })
  // One more than the limit: node drops further headers silently, and one of them may be the Origin.
  server.maxHeadersCount = MAX_HEADERS + 1
  server.on('clientError', (error, socket) => refuseSocket(error, socket as Socket))
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) =>
    refuseSilent(socket, headersMs),
  )
  return server
}

/**
 * Ends a connection whose first request does not come. Node's own check forgets one of two connections that began at the
 * same tick of the clock, and some machines have ticks of 20 ms.
 */
function refuseSilent(socket: Socket, headersMs: number): void {
  const late = () => {
    // Null once the connection is a WebSocket.
    const { parser } = socket as Socket & { parser?: { incoming?: unknown } | null }
    if (socket.destroyed || socket.writableEnded || socket.bytesWritten > 0 || !parser || parser.incoming)
      return
    refuseSocket(Object.assign(new Error('The request did not come.'), { code: LATE }), socket)
  }
  // After Node's own check, which knows more.
  const timer = setTimeout(late, headersMs + 2 * Math.min(headersMs, CHECK_MS))
  socket.once('close', () => clearTimeout(timer))
}

const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'
export const HEADERS_MS = 5_000
const CHECK_MS = 1_000
const REQUEST_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 5_000
const UNREAD_MS = 30_000
const MAX_HEADER_BYTES = 16 * 1024
/** More than the limit of WebSockets, so that one above that limit gets an error. */
const MAX_CONNECTIONS = 2048

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpServerOptions,
): Promise<void> {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
  const url = requestUrl(request)
  if (url === undefined) throw new HttpError(400, 'invalid-url', 'The URL of the request is malformed.')
  const match = matchRoute(options.routes, request.method ?? '', url.pathname)
  const facts = factsOf(request, kindOf(match, url.pathname), options.keys)
  const verdict = guard(facts, options.place())
  if (!verdict.allow) throw refusal(verdict.status, verdict.reason)
  if (facts.token === 'valid') options.onTrusted?.(request.socket)
  // A stream of a browser ends when the browser is signed out.
  const token = bearerOf(request.headers.authorization)
  response.once(
    'close',
    options.keys.whenRevoked(token, () => response.destroy()),
  )
  switch (match.found) {
    case 'route':
      return match.route.handle({ request, response, url, params: match.params })
    case 'path':
      response.setHeader('allow', match.allowed.join(', '))
      throw new HttpError(405, 'method', `Use ${match.allowed.join(' or ')} here.`)
    case 'nothing':
      if (isApi(url.pathname))
        throw new HttpError(404, 'not-found', 'There is no such route. /openapi.json lists them.')
      return options.files.serve(request, response, url.pathname)
  }
}

/** Only the path counts: an absolute URL in the request line is for proxies. */
export function requestUrl(request: IncomingMessage): URL | undefined {
  const target = request.url ?? ''
  return target.startsWith('/') && URL.canParse(`http://server${target}`)
    ? new URL(`http://server${target}`)
    : undefined
}

/** A refused request does not reveal which routes exist. */
function kindOf(match: RouteMatch, pathname: string): RouteKind {
  if (match.found === 'route') return match.route.kind
  // MCP asks with GET whether there is a stream, and has to hear with its own token that there is none.
  if (match.found === 'path' && match.kind === 'program') return 'program'
  return match.found === 'path' || isApi(pathname) ? 'call' : 'page'
}

function isApi(pathname: string): boolean {
  return /^\/(?:api|trpc)(?:\/|$)/.test(pathname)
}

export function refusal(status: number, reason: GuardReason): HttpError {
  return new HttpError(status, reason, REFUSALS[reason])
}

const REFUSALS: Record<GuardReason, string> = {
  headers: `Send at most ${MAX_HEADERS} headers.`,
  host: 'This server is not reached under that name. Use the link that it printed.',
  method: 'This method is not used here.',
  origin: 'Other pages may not use this server.',
  'cross-site': 'Other pages may not use this server.',
  'content-type': 'Send JSON, with "Content-Type: application/json".',
  'token-missing': 'Send the token of this server: "Authorization: Bearer TOKEN".',
  'token-wrong':
    'The token is not one of this server. Tokens are new each time it starts, and end when a browser is signed out.',
}

function refuseSocket(error: NodeJS.ErrnoException, socket: Socket): void {
  // Once an answer has begun, no other can be sent.
  if (socket.writable && socket.bytesWritten === 0) endSocket(socket, BROKEN[error.code ?? ''] ?? 400)
  else socket.destroy()
}

const BROKEN: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }

/** The client left in the middle: no error, and no one to report it to. */
function isDeparture(error: unknown, response: ServerResponse): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return (response.req.socket.destroyed || response.destroyed) && DEPARTURES.has(code)
}

const DEPARTURES: ReadonlySet<string> = new Set([
  ...['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'],
])

const answers = new WeakMap<Socket, Set<ServerResponse>>()

/** Far more than a browser or a script has pending at once. */
const MAX_WAITING = 128

/**
 * Resolves when the previous answers on the same connection are sent: a request behind a client that does not read
 * opens no file and does no work. False if the connection is closed, or if too many requests wait: the connection ends
 * then.
 */
async function whenItsTurn({ socket }: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const open = [...(answers.get(socket) ?? [])]
  if (open.length > MAX_WAITING) socket.destroy()
  const before = open[open.indexOf(response) - 1]
  if (before !== undefined) await new Promise<void>(resolve => before.once('close', resolve))
  return !response.destroyed
}

/**
 * Closes an answer with its connection. Node does so only for the answer that is being sent; the waiting ones would
 * never notice, and keep their files open forever.
 */
function closeWithConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  const open = answers.get(socket) ?? watch(socket)
  open.add(response)
  response.once('close', () => open.delete(response))
}

function watch(socket: Socket): Set<ServerResponse> {
  const open = new Set<ServerResponse>()
  answers.set(socket, open)
  socket.once('close', () => {
    for (const response of [...open]) {
      if (response.destroyed) continue
      response.destroy()
      response.emit('close')
    }
  })
  return open
}
